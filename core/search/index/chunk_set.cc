#include "core/search/index/chunk_set.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace arborfs::search {

void ChunkSet::add(std::uint64_t id) {
  if (id / 64 >= bits_.size()) {
    bits_.resize(id / 64 + 1);
  }
  bits_[id / 64] |= std::uint64_t{1} << (id & 63U);
}

void ChunkSet::add(const ChunkSet& other) {
  is_all_ = is_all_ || other.is_all_;
  bits_.resize(std::max(bits_.size(), other.bits_.size()));
  for (std::size_t i = 0; i < other.bits_.size(); ++i) {
    bits_[i] |= other.bits_[i];
  }
}

void ChunkSet::keep_only(const ChunkSet& other) {
  if (other.is_all_) {
    return;
  }
  if (is_all_) {
    *this = other;
    return;
  }
  bits_.resize(std::min(bits_.size(), other.bits_.size()));
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    bits_[i] &= other.bits_[i];
  }
}

void ChunkSet::remove(const ChunkSet& other) {
  for (std::size_t i = 0; i < std::min(bits_.size(), other.bits_.size()); ++i) {
    bits_[i] &= ~other.bits_[i];
  }
}

std::size_t ChunkSet::count() const {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const auto add = [](std::size_t sum, std::uint64_t bits) {
    return sum + static_cast<std::size_t>(std::popcount(bits));
  };
  return is_all_ ? kAll : std::accumulate(bits_.begin(), bits_.end(), std::size_t{0}, add);
}

}  // namespace arborfs::search
