// The results of a search, as users see them: the names of its links, excerpts.md for people, hits.json for programs.
// They contain texts of logs in the form that text/ shows. Pure functions, any thread; no lock is held on return.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/search/search.h"

namespace arborfs::search {

/// A match as users see it; valid as long as what it was found in.
struct ShownMatch {
  const Match& match;
  const std::string& id;       // as in by-id/
  const std::string& project;  // its name
  Session::Summary session;
  std::string path;  // CatalogView::path_of
  std::string name;  // session_name()
  std::string link;  // its name in search/<query>/: the rank and the name of its folder
};
/// `rank`: the place of the match in `found`, from 0.
ShownMatch shown_match(const Found& found, std::size_t rank);

/// Appends the object of one match in hits.json, which is also what `arborfs search --json` prints: session, agent,
/// project, title, modified, path, hits with entry, path, time, excerpt and marks, and more (true if there may be more
/// hits). `link` comes first, unless it is "".
void append_match_json(const ShownMatch& shown, std::string& out);

/// excerpts.md has the hits of at most so many sessions.
inline constexpr std::size_t kMostExcerpts = 20;

/// Names, best match first, and Session::number.
using SearchLinks = std::vector<std::pair<std::string, std::uint32_t>>;

/// What search/<query>/ shows.
struct Report {
  SearchLinks links;
  /// excerpts.md: the first matches with their hits, which it names by their paths below the folder of the query.
  /// Matching words are between `**`.
  std::string excerpts;
  /// hits.json: an array with one match on each line, and last an object with `notSearched` for each submount that
  /// hangs.
  std::string hits;
};
/// `left_out`: what was not searched; both texts say so.
Report report_of(std::string_view query, const Found& found, const Hanging& left_out = {});

}  // namespace arborfs::search
