// Changes the search index. A batch of changes becomes visible to others as a whole. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/search/index_database.h"

namespace arborfs::search {

class IndexWriter {
 public:
  /// Errors: those of IndexDatabase::open_or_create.
  static Result<std::unique_ptr<IndexWriter>> open(Disk& disk, const std::string& folder);

  /// Begins a batch, and reads what other processes changed. Errors: busy if another process writes now; corrupt,
  /// no_space, io.
  Result<void> begin();
  [[nodiscard]] bool is_in_batch() const { return is_in_batch_; }
  /// Fails as begin() if there is no batch and none can begin now.
  Result<void> check_free();
  /// True once a batch has so much text, or is so old, that it should be committed: until then no other process can
  /// write, its new terms are in memory, and its work is lost if the process ends.
  [[nodiscard]] bool is_batch_full() const;
  [[nodiscard]] const IndexTable& table() const { return table_; }
  /// Reads what other processes changed. Errors: as begin.
  Result<void> update();

  // In a batch. Errors: corrupt, no_space, io; the batch must be rolled back then.
  TermId id_of(std::string_view term) { return terms_.id_of(term); }
  /// Adds a chunk with these terms in a row, of `text_bytes` of text; returns its id. Errors also: too_large.
  Result<std::int64_t> add_chunk(const std::vector<TermId>& terms, std::uint64_t text_bytes);
  /// `files`: those that its tools touched, each once, if IndexedSession::has_files.
  Result<void> put(const IndexKey& key, const IndexedSession& session, const std::vector<std::string>& files = {});
  Result<void> remove(const IndexKey& key);
  Result<void> commit();
  void roll_back();
  /// After commits: moves them from the write-ahead log to the database, unless another process reads it now.
  void empty_log();

  /// True if most of the index is about sessions that are gone or have changed.
  [[nodiscard]] bool is_mostly_garbage() const;
  [[nodiscard]] bool is_in_place() const { return database_.is_in_place(); }

 private:
  explicit IndexWriter(IndexDatabase database) : database_(std::move(database)) {}
  [[nodiscard]] const sqlite::Connection& connection() const { return database_.connection(); }
  Result<void> store_terms();
  Result<void> put_files(const IndexKey& key, const std::vector<std::string>& files);
  Result<void> remove_texts(const IndexTable::Row& old, const std::vector<Chunk>& kept);
  IndexDatabase database_;
  IndexTable table_;  // as of the last commit
  TermIds terms_;
  bool is_in_batch_ = false;
  std::chrono::steady_clock::time_point batch_begun_;
  std::uint64_t batch_bytes_ = 0;  // of texts
  bool has_log_ = false;           // of commits
  std::uint64_t last_chunk_ = 0;
  std::int64_t last_change_ = 0;
};

}  // namespace arborfs::search
