// The results of a search, as users see them: the names of its links, excerpts.md for people, hits.json for programs.
// They contain texts of logs in the form that text/ shows. Pure functions, any thread; no lock is held on return.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/search/search.h"

namespace arborfs::search {

/// A match, and where it is shown.
struct ShownMatch {
  Match match;
  std::string link;  // its name in search/<query>/: the rank and a slug of the title
  std::string id;    // as in by-id/; the name in the project for a log without an id
  std::string title;
  std::string project;  // its name; "" for a session that is not shown any more
  std::string path;     // projects/<project>/<session>
  std::int64_t mtime_ns = 0;
};

/// excerpts.md has the hits of at most so many sessions.
inline constexpr std::size_t kMostExcerpts = 20;

/// The matches in their order.
std::vector<ShownMatch> shown_matches(const CatalogView& view, std::vector<Match> matches);

/// The object of one match in hits.json, which is also what `arborfs search --json` prints: session, agent, project,
/// title, modified, path, hits with entry, path, time, excerpt and marks, and more (true if there may be more hits).
/// `link` comes first, unless it is "".
std::string match_json(const ShownMatch& shown);

/// hits.json: an array with one match on each line.
std::string hits_json(const std::vector<ShownMatch>& matches);

/// excerpts.md: the first matches with their hits, which it names by their paths below the folder of the query.
/// Matching words are between `**`. `unreadable`: Found::unreadable.
std::string excerpts_text(std::string_view query, const std::vector<ShownMatch>& matches, std::size_t unreadable);

}  // namespace arborfs::search
