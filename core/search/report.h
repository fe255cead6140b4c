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

/// Where a view shows sessions. The view must outlive it.
class ShownPlaces {
 public:
  explicit ShownPlaces(const CatalogView& view);
  /// `rank`: its place among all matches, from 1; `count`: how many there are.
  [[nodiscard]] ShownMatch of(Match match, std::size_t rank, std::size_t count) const;

 private:
  const CatalogView& view_;
  std::vector<const std::string*> ids_;  // by the session's number; null for one without an id
};

/// The object of one match in hits.json, which is also what `arborfs search --json` prints: session, agent, project,
/// title, modified, path, hits with entry, path, time, excerpt and marks, and more (true if there may be more hits).
/// `link` comes first, unless it is "".
std::string match_json(const ShownMatch& shown);

/// excerpts.md has the hits of at most so many sessions.
inline constexpr std::size_t kMostExcerpts = 20;

/// What search/<query>/ shows.
struct Report {
  std::vector<std::pair<std::string, std::uint32_t>> links;  // names, best match first, and Session::number
  /// excerpts.md: the first matches with their hits, which it names by their paths below the folder of the query.
  /// Matching words are between `**`.
  std::string excerpts;
  /// hits.json: an array with one match on each line.
  std::string hits;
};
Report report_of(const CatalogView& view, std::string_view query, Found found);

}  // namespace arborfs::search
