// Which terms follow each other in a chunk, in a few bytes: tells without reading the codes of a chunk that it lacks a
// phrase. Pure functions and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/search/index/terms.h"

namespace arborfs::search {

/// A chunk of kChunkBytes of text has some 2,000 different pairs of terms that follow each other, which set two bits in
/// five.
inline constexpr std::size_t kPairFilterBytes = 512;

/// One bit for each pair of terms that follow each other, which several pairs may share.
std::string pair_filter_of(const std::vector<TermId>& terms);

/// The pairs of a phrase.
class PhrasePairs {
 public:
  /// A chunk needs some pair of `first` and `second`, which are not empty. Too many pairs tell nothing and are left
  /// out.
  void need(const std::vector<TermId>& first, const std::vector<TermId>& second);
  [[nodiscard]] bool is_empty() const { return needed_.empty(); }
  /// False if the chunk with this filter, of kPairFilterBytes, surely lacks a pair that it needs.
  [[nodiscard]] bool may_be_in(std::string_view filter) const;

 private:
  std::vector<std::vector<std::uint16_t>> needed_;  // of each, one bit
};

}  // namespace arborfs::search
