// Finds the chunks of the search index that have a word or phrase. A word is a part of terms; a phrase is terms that
// follow each other, of which it may begin within the first and end within the last. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/search/index_database.h"
#include "core/search/query.h"

namespace arborfs::search {

/// Chunks with rows in the index.
class ChunkSet {
 public:
  static ChunkSet all() { return ChunkSet(true); }
  ChunkSet() = default;
  void add(std::uint64_t id);
  void add(const ChunkSet& other);
  void keep_only(const ChunkSet& other);
  /// Changes nothing if this set has all chunks.
  void remove(const ChunkSet& other);
  [[nodiscard]] bool has(std::int64_t chunk) const {
    const auto id = static_cast<std::uint64_t>(chunk);
    return is_all_ || (id / 64 < bits_.size() && (bits_[id / 64] >> (id & 63U) & 1U) != 0);
  }
  /// How many chunks it has; the greatest number if it has all.
  [[nodiscard]] std::size_t count() const;
  /// Of memory.
  [[nodiscard]] std::size_t bytes() const { return bits_.capacity() * sizeof(std::uint64_t); }

 private:
  explicit ChunkSet(bool is_all) : is_all_(is_all) {}
  bool is_all_ = false;
  std::vector<std::uint64_t> bits_;
};

/// Where a word occurs. Chunks that are in no set lack it, unless `is_partial`.
struct WordChunks {
  ChunkSet has;             // the word surely
  ChunkSet may;             // have it: only their texts can tell
  bool is_partial = false;  // chunks that are in no set may have it, but only in sessions that have it surely
  [[nodiscard]] bool surely_in(const Chunk& chunk) const { return chunk.id != Chunk::kUnread && has.has(chunk.id); }
  [[nodiscard]] bool perhaps_in(const Chunk& chunk) const {
    return chunk.id == Chunk::kUnread || has.has(chunk.id) || may.has(chunk.id);
  }
};

/// Which chunks have a term. Those of frequent terms, which the full-text index gives row by row, are kept until the
/// index has more chunks: no chunk ever changes.
class TermChunks {
 public:
  /// `connection` must outlive it.
  static Result<TermChunks> make(const sqlite::Connection& connection);
  /// `last_chunk` is the last one of the index. Errors: corrupt, busy, io.
  Result<ChunkSet> of(TermId term, std::uint64_t last_chunk);

 private:
  explicit TermChunks(sqlite::Statement rows) : rows_(std::move(rows)) {}
  Result<ChunkSet> look_up(TermId term, std::uint64_t last_chunk);
  sqlite::Statement rows_;
  std::unordered_map<TermId, ChunkSet> kept_;
  std::uint64_t last_chunk_ = 0;  // when these were looked up
  std::size_t bytes_ = 0;         // of these
};

/// What is read of an index: through two connections at once, unless `second` is null.
struct WordIndex {
  const sqlite::Connection& first;
  const sqlite::Connection* second;
  const IndexTable& table;
  TermChunks& terms;
};

/// `word` is folded. Unless `needs_all`, chunks of sessions that surely have the word elsewhere may be left out.
/// Errors: corrupt, busy, io; interrupted once it is over.
Result<WordChunks> find_word(const WordIndex& index, std::string_view word, bool needs_all, const IsOver& is_over);

}  // namespace arborfs::search
