// The searches of a mount: numbers for the queries that were looked up, and the results of the last ones. A result
// serves requests while it is fresh (ChangeFeed::is_fresh). Requests for one query share one search.
// Thread-safe; mutex_ is a leaf and is not held while a search runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/single_flight.h"
#include "core/search/report.h"
#include "core/session/catalog.h"

namespace arborfs::search {

/// The result of a search, without references to sessions.
struct SearchResult {
  std::uint32_t query = 0;
  std::uint32_t version = 0;  // differs where the texts differ; never reused
  Report report;
  std::int64_t made_ns = 0;    // of this version
  std::uint64_t sequence = 0;  // of the change feed before the search
  std::chrono::steady_clock::time_point begun;
  std::chrono::steady_clock::time_point ended;
  /// The links of results before this one that had others, and when they ended: the newest first, kMostFormer at most,
  /// none older than kFormer. A program that has listed them may still follow them.
  std::vector<std::pair<std::shared_ptr<const SearchLinks>, std::chrono::steady_clock::time_point>> former;
};
using SearchResultPtr = std::shared_ptr<const SearchResult>;

class SearchIndex;

class RecentSearches {
 public:
  /// From now on searches use an index, which outlives them, and call `on_search`. Set it before the first search.
  void use(SearchIndex& index, std::function<void()> on_search) {
    index_ = &index;
    on_search_ = std::move(on_search);
  }

  static constexpr std::chrono::seconds kFormer{10};
  static constexpr std::size_t kMostFormer = 16;
  static constexpr std::size_t kMostQueries = 4096;
  static constexpr std::size_t kMostResults = 8;
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
  static constexpr std::uint32_t kMostNumbers = 0xFFFFFF;

  /// The number of a query, from 1; 0 if the numbers have run out. Beyond kMostQueries the oldest query loses its
  /// number, which is never reused.
  std::uint32_t number_of(std::string_view text);
  [[nodiscard]] std::optional<std::string> text_of(std::uint32_t number) const;

  /// The result of the last search for a query; null if it is not kept.
  [[nodiscard]] SearchResultPtr known(std::uint32_t number) const;
  /// The same, if a new search would find the same.
  [[nodiscard]] SearchResultPtr fresh(Catalog& catalog, std::uint32_t number) const;
  /// A fresh result; searches if there is none, or waits for another thread that searches. Errors: stale (the number
  /// means no query), interrupted (cancelled, or no longer Wanted), and those of parse_query.
  Result<SearchResultPtr> search(Catalog& catalog, std::uint32_t number);

 private:
  Result<SearchResultPtr> run(Catalog& catalog, std::uint32_t number, const std::string& text);
  SearchResultPtr keep(SearchResult found);
  [[nodiscard]] SearchResultPtr find_locked(std::uint32_t number) const;
  SearchIndex* index_ = nullptr;
  std::function<void()> on_search_ = [] {};
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::string> queries_;  // guarded by mutex_
  std::uint32_t last_number_ = 0;                 // guarded by mutex_
  std::uint32_t last_version_ = 0;                // guarded by mutex_
  std::list<SearchResultPtr> results_;            // newest first; guarded by mutex_
  SingleFlight searches_;                         // by the number of the query
};

}  // namespace arborfs::search
