// The file of the search index, in the private cache folder. It may be deleted, damaged or replaced at any time: what
// it says only ever saves reading a text. An open database is used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/os/disk.h"
#include "core/search/indexed_session.h"
#include "core/search/terms.h"
#include "core/sqlite/connection.h"

namespace arborfs::search {

class IndexDatabase {
 public:
  /// Opens an index that exists. Errors: not_found; permission if it belongs to another user; corrupt; unsupported if
  /// another version of arborfs made it, or this SQLite has no full-text search; busy; io.
  static Result<IndexDatabase> open(const std::string& folder);
  /// Opens it or creates it, with mode 0600 in a folder with mode 0700. Errors also: no_space.
  static Result<IndexDatabase> open_or_create(Disk& disk, const std::string& folder);
  /// Renames what is in the index's place, so that a new one can be made. Replaces what was put aside before. Errors:
  /// those of the disk.
  static Result<void> put_aside(Disk& disk, const std::string& folder);
  /// Removes the index. Errors: those of the disk.
  static Result<void> remove(Disk& disk, const std::string& folder);

  [[nodiscard]] const sqlite::Connection& connection() const { return connection_; }
  /// False once the file was deleted or replaced.
  [[nodiscard]] bool is_in_place() const;

  static constexpr const char* kName = "search.db";

 private:
  IndexDatabase(sqlite::Connection connection, std::string folder, const FileStat& opened)
      : connection_(std::move(connection)), folder_(std::move(folder)), opened_(opened) {}
  static Result<IndexDatabase> connect(const Dir& dir, const std::string& folder);
  sqlite::Connection connection_;
  std::string folder_;
  FileStat opened_;
};

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
