// Sets of chunks of the search index. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace arborfs::search
