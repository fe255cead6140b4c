// Finds the sessions of a catalog whose texts match a query. It reads the logs, so the result always matches the
// current texts of the mount. An index saves reading the texts that cannot have the words; a session that changed since
// it was indexed is read completely. Any thread; memory is bounded by the number of hits that are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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
  SessionPtr session;
  double score = 0;
  std::uint64_t hit_count = 0;  // entries that match
  std::vector<Hit> hits;        // the best of them, at most Options::most_hits, in the order of the session
};

class SearchIndex;

struct Options {
  std::size_t most_hits = 5;             // kept of each session
  std::size_t excerpt_characters = 160;  // at most
  const std::atomic<bool>* cancelled = nullptr;
  SearchIndex* index = nullptr;                          // null: all texts are read
  std::function<bool()> is_over = [] { return false; };  // set by search(): true once its result is not needed; cheap
};

struct Found {
  std::vector<Match> matches;  // best first; of equal ones the one that changed last
  std::size_t unreadable = 0;  // sessions that could not be read
};

/// Searches all sessions. Each word must occur in some text of a session; the texts that contain an unwanted word
/// exclude it. Errors: interrupted once cancelled, or once the calling thread's work is not Wanted.
Result<Found> search(const Catalog& catalog, const Query& query, const Options& options = {});

}  // namespace arborfs::search
