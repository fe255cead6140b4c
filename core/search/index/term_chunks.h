// Which chunks have a term. Those of frequent terms, which the full-text index gives row by row, are kept from one
// search to the next. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/search/index/chunk_set.h"
#include "core/search/index/terms.h"
#include "core/sqlite/connection.h"

namespace arborfs::search {

class TermChunks {
 public:
  /// `connection` must outlive it.
  static Result<TermChunks> make(const sqlite::Connection& connection);
  /// Adds the chunks that have a term to `chunks`; returns how many. `last_chunk` is the last one of the index. Only
  /// the chunks that are new since the last call are looked up: they have higher ids, and no chunk ever changes.
  /// Errors: corrupt, busy, io.
  Result<std::size_t> add(TermId term, std::uint64_t last_chunk, ChunkSet& chunks);

 private:
  struct Known {
    ChunkSet chunks;
    std::size_t count = 0;
    std::uint64_t last_chunk = 0;  // when they were looked up
  };
  explicit TermChunks(sqlite::Statement rows) : rows_(std::move(rows)) {}
  Result<void> look_up(TermId term, std::uint64_t last_chunk, Known& known);
  void keep(TermId term, Known known);
  sqlite::Statement rows_;
  std::unordered_map<TermId, Known> known_;
  std::size_t bytes_ = 0;  // of known_
};

}  // namespace arborfs::search
