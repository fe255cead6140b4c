#include "core/search/index/pair_filter.h"

#include <algorithm>

namespace arborfs::search {

namespace {

constexpr std::size_t kMostPairs = 256;  // of which one is needed

/// Spreads pairs evenly: the upper bits of a product depend on all bits of both terms.
std::uint16_t bit_of(TermId first, TermId second) {
  static_assert(kPairFilterBytes * 8 == std::size_t{1} << 12U);
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const std::uint64_t pair = std::uint64_t{first} << 32U | second;
  return static_cast<std::uint16_t>((pair ^ pair >> 29U) * kGoldenRatio >> (64U - 12U));
}

}  // namespace

std::string pair_filter_of(const std::vector<TermId>& terms) {
  std::string filter(kPairFilterBytes, '\0');
  for (std::size_t i = 1; i < terms.size(); ++i) {
    if (terms[i - 1] != kBreak && terms[i] != kBreak) {
      const std::uint16_t bit = bit_of(terms[i - 1], terms[i]);
      filter[bit / 8U] = static_cast<char>(static_cast<std::uint8_t>(filter[bit / 8U]) | 1U << (bit & 7U));
    }
  }
  return filter;
}

void PhrasePairs::need(const std::vector<TermId>& first, const std::vector<TermId>& second) {
  if (second.size() > kMostPairs / first.size()) {
    return;
  }
  auto& bits = needed_.emplace_back();
  for (const TermId before : first) {
    for (const TermId after : second) {
      bits.push_back(bit_of(before, after));
    }
  }
}

bool PhrasePairs::may_be_in(std::string_view filter) const {
  const auto is_set = [&](std::uint16_t bit) {
    return (static_cast<std::uint8_t>(filter[bit / 8U]) >> (bit & 7U) & 1U) != 0;
  };
  return std::all_of(needed_.begin(), needed_.end(),
                     [&](const auto& bits) { return std::any_of(bits.begin(), bits.end(), is_set); });
}

}  // namespace arborfs::search
