// Finds the sessions of a catalog whose texts match a query. An index answers for the sessions that are as they were
// when they were indexed; the texts of the others are read. The result matches the texts of the mount, as they were at
// most half a second before. Any thread; memory is bounded by the number of hits that are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/search/excerpt.h"
#include "core/search/query.h"
#include "core/session/catalog.h"

namespace arborfs::search {

/// An entry that matches.
struct Hit {
  Ordinal ordinal = kNoEntry;
  std::string stem;  // of its files in entries/ and text/
  std::int64_t time_ms = Entry::kNoTime;
  Excerpt excerpt;
};

/// A session that matches.
struct Match {
  const ShownAt* shown = nullptr;  // in Found::view
  std::vector<Hit> hits;           // at most Options::most_hits, in the order of the session
  bool has_more = false;           // there may be more entries that match
};

class SearchIndex;

struct Options {
  std::optional<std::size_t> most_shown;  // sessions, the best ones, whose hits are looked for; nothing for all
  std::size_t most_hits = 5;              // kept of each session
  std::size_t excerpt_columns = 160;      // at most
  SearchIndex* index = nullptr;           // null: all texts are read
  Hanging left_out = {};                  // sessions in these are not searched
  IsOver is_over = [] { return false; };  // set by search()
};

struct Found {
  CatalogViewPtr view;
  std::vector<Match> matches;  // best first; of equal ones the one that changed last
  std::size_t unreadable = 0;  // sessions that could not be read
};

/// Searches all sessions. Each word must occur in some text of a session; the texts that contain an unwanted word
/// exclude it. Ranked by BM25, where a word counts once for each part of some 16 KiB of a session. Errors: interrupted
/// once cancelled, or once the calling thread's work is not Wanted.
Result<Found> search(const Catalog& catalog, const Query& query, const Options& options = {});

/// Fails if the query names an agent of which no store is open and no session is shown. Errors: invalid_argument, with
/// the agents of the open stores.
Result<void> check_agent(const Catalog& catalog, const Query& query);

/// For a query that finds nothing: fails if it names a role that no entry has, or a tool that no entry calls where
/// another one is called that its user probably meant. Only sessions of the query's agent count. Reads their indexes
/// until one has the role, and the newest records for the tools. Errors: invalid_argument, with the roles that there
/// are, or the tool; interrupted once cancelled.
Result<void> explain_nothing(const Catalog& catalog, const Query& query);

}  // namespace arborfs::search
