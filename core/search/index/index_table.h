// The search index's rows about sessions, and its terms, in memory. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/search/index/indexed_session.h"
#include "core/search/index/terms.h"
#include "core/sqlite/connection.h"

namespace arborfs::search {

class IndexTable {
 public:
  using Row = std::shared_ptr<const IndexedSession>;
  using Rows = std::unordered_map<IndexKey, Row, IndexKeyHash>;

  /// Reads what changed since the last call. A row that another process removed stays: its chunks are still in the
  /// index. Errors: corrupt, busy, io.
  Result<void> update(const sqlite::Connection& connection);
  void forget(const IndexKey& key);
  /// Null if the session is not in the index.
  [[nodiscard]] Row find(const IndexKey& key) const;
  [[nodiscard]] const std::shared_ptr<Rows>& rows() const { return rows_; }
  /// All terms: segments whose ids follow each other.
  [[nodiscard]] const std::vector<TermSegment>& segments() const { return segments_; }
  [[nodiscard]] std::uint64_t last_chunk() const { return last_chunk_; }
  [[nodiscard]] std::int64_t last_change() const { return last_change_; }
  /// Chunks of sessions, as they are now.
  [[nodiscard]] std::uint64_t live_chunks() const;

 private:
  /// Copies the rows if another object holds them.
  Rows& rows_to_change();
  Result<void> read_terms(const sqlite::Connection& connection);
  Result<void> read_rows(const sqlite::Connection& connection, std::int64_t until);
  std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();  // never changed while another object holds it
  std::vector<TermSegment> segments_;
  std::uint64_t last_chunk_ = 0;
  std::int64_t last_change_ = 0;
};

/// What the rows say cannot be so.
Error index_is_damaged();

/// A number in the table `facts`; 0 if there is none.
Result<std::int64_t> number_fact(const sqlite::Connection& connection, std::string_view name);
Result<void> set_fact(const sqlite::Connection& connection, std::string_view name, std::int64_t number);

}  // namespace arborfs::search
