// Which texts of which sessions may contain the words of a query: what the search index says, at one moment. Immutable;
// any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/search/index_table.h"
#include "core/search/query.h"

namespace arborfs::search {

/// The chunks that may contain a word. A chunk without the word may be among them, but none with it is missing.
class ChunkSet {
 public:
  static ChunkSet all() { return ChunkSet(); }
  explicit ChunkSet(std::uint64_t last) : bits_(last / 64 + 1) {}
  void add(std::uint64_t id) {
    if (id / 64 < bits_.size()) {
      bits_[id / 64] |= std::uint64_t{1} << (id & 63U);
    }
  }
  [[nodiscard]] bool has(std::int64_t chunk) const {
    const auto id = static_cast<std::uint64_t>(chunk);
    return bits_.empty() || chunk == Chunk::kUnread ||
           (id / 64 < bits_.size() && (bits_[id / 64] >> (id & 63U) & 1U) != 0);
  }

 private:
  ChunkSet() = default;
  std::vector<std::uint64_t> bits_;  // empty for all chunks
};

/// The texts of a session that a search has to read.
struct TextsToRead {
  bool may_match = true;  // false: the session cannot match
  std::vector<Chunk> chunks;
  IndexTable::Row indexed;
  [[nodiscard]] bool has(Ordinal entry) const;
};

struct QueryChunks {
  std::vector<ChunkSet> wanted;
  std::vector<ChunkSet> unwanted;
  std::optional<ChunkSet> tool;
};

class IndexLookup {
 public:
  IndexLookup(std::shared_ptr<const IndexTable::Rows> rows, QueryChunks chunks)
      : rows_(std::move(rows)), chunks_(std::move(chunks)) {}
  /// Nothing if the index does not have the session in this state: then all of its texts are to be read.
  [[nodiscard]] std::optional<TextsToRead> texts_of(const Session& session, const FileStat& state) const;

 private:
  const std::shared_ptr<const IndexTable::Rows> rows_;
  const QueryChunks chunks_;
};

/// True if an index can save reading texts for the query.
bool can_use_index(const Query& query);

}  // namespace arborfs::search
