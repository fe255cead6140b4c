// The entries of an index, in chunks, so that adding entries does not copy all earlier ones. References are valid until
// the next push. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

class EntryStore {
 public:
  [[nodiscard]] Ordinal size() const { return size_; }
  [[nodiscard]] const Entry& at(Ordinal ordinal) const {
    return chunks_[(ordinal - 1) / kChunk][(ordinal - 1) % kChunk];
  }
  void push(const Entry& entry) {
    if (chunks_.empty() || chunks_.back().size() == kChunk) {
      chunks_.emplace_back();
    }
    std::vector<Entry>& last = chunks_.back();
    if (last.size() == last.capacity()) {
      last.reserve(std::min<std::size_t>(std::max<std::size_t>(last.size() * 2, kSmallest), kChunk));
    }
    last.push_back(entry);
    ++size_;
  }
  void shrink() {
    if (!chunks_.empty()) {
      chunks_.back().shrink_to_fit();
    }
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    std::size_t bytes = chunks_.capacity() * sizeof(chunks_[0]);
    for (const auto& chunk : chunks_) {
      bytes += chunk.capacity() * sizeof(Entry);
    }
    return bytes;
  }

 private:
  static constexpr std::size_t kChunk = 8192;
  static constexpr std::size_t kSmallest = 16;
  std::vector<std::vector<Entry>> chunks_;
  Ordinal size_ = 0;
};

}  // namespace arborfs
