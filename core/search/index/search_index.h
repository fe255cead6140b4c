// The search index as searches use it. Without a usable index, or while one is made, searches read the texts. It never
// changes the index: the indexer makes a damaged one again. Thread-safe; mutex_ is a leaf, held while the index is
// read.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/search/index/index_database.h"
#include "core/search/index/index_lookup.h"
#include "core/search/index/term_chunks.h"
#include "core/search/query/is_over.h"

namespace arborfs::search {

class SearchIndex {
 public:
  /// `folder` is that of the cache, and need not exist. Calls `on_damage` (may be empty) when a search finds that the
  /// index in it is damaged, on the thread of that search.
  explicit SearchIndex(std::string folder, std::function<void()> on_damage = {})
      : folder_(std::move(folder)), on_damage_(std::move(on_damage)) {}
  /// Null if the index cannot be used, or would save nothing, or once it is over.
  std::shared_ptr<const IndexLookup> look_up(const Query& query, const IsOver& is_over);

 private:
  Result<std::shared_ptr<const IndexLookup>> read_or_close(const Query& query, const IsOver& is_over);
  Result<void> open();
  void close();
  Result<std::shared_ptr<const IndexLookup>> read(const Query& query, const IsOver& is_over);
  const std::string folder_;
  const std::function<void()> on_damage_;
  std::mutex mutex_;
  std::optional<IndexDatabase> database_;  // guarded by mutex_
  std::optional<IndexDatabase> second_;    // the same, for a second thread; guarded by mutex_
  std::optional<TermChunks> terms_;        // of database_; guarded by mutex_
  IndexTable table_;                       // the same
};

}  // namespace arborfs::search
