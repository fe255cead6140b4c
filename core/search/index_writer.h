// Changes the search index. A batch of changes becomes visible to others as a whole. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/search/index_database.h"
#include "core/search/index_table.h"

namespace arborfs::search {

class IndexWriter {
 public:
  /// Errors: those of IndexDatabase::open_or_create.
  static Result<std::unique_ptr<IndexWriter>> open(Disk& disk, const std::string& folder);

  /// Begins a batch, and reads what other processes changed. Errors: busy if another process writes now; corrupt,
  /// no_space, io.
  Result<void> begin();
  [[nodiscard]] bool is_in_batch() const { return is_in_batch_; }
  [[nodiscard]] const IndexTable& table() const { return table_; }
  /// Reads what other processes changed. Errors: as begin.
  Result<void> update();

  // In a batch. Errors: corrupt, no_space, io; the batch must be rolled back then.
  /// Adds the grams of a chunk (GramSet::take); returns its id. Errors also: too_large.
  Result<std::int64_t> add_chunk(std::string_view grams);
  Result<void> put(const IndexKey& key, const IndexedSession& session);
  Result<void> remove(const IndexKey& key);
  Result<void> commit();
  void roll_back();

  /// True if most of the index is about sessions that are gone or have changed.
  [[nodiscard]] bool is_mostly_garbage() const;
  [[nodiscard]] bool is_in_place() const { return database_.is_in_place(); }

 private:
  explicit IndexWriter(IndexDatabase database) : database_(std::move(database)) {}
  [[nodiscard]] const sqlite::Connection& connection() const { return database_.connection(); }
  Result<void> store_facts();
  IndexDatabase database_;
  IndexTable table_;  // as of the last commit
  GramCounts counts_;
  bool is_in_batch_ = false;
  std::uint64_t last_chunk_ = 0;
  std::int64_t last_change_ = 0;
};

}  // namespace arborfs::search
