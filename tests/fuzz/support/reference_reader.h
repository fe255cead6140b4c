// The lenient reader of the agents written down as plainly as possible: the whole text in memory, one pass, no
// resuming, no fast path (omp/FORMAT.md A1 to A8). What the index is compared with.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace arborfs::fuzz {

struct ReferenceValue {
  std::size_t offset = 0;
  std::size_t length = 0;
  bool operator==(const ReferenceValue&) const = default;
};

struct ReferenceReading {
  std::vector<ReferenceValue> values;
  std::uint64_t malformed = 0;  // as 18 counts
};

/// Values of `text` from `begin` on, offsets counted from its start.
ReferenceReading read_leniently(std::string_view text, std::size_t begin);

/// Behind the BOM, when there is one.
std::size_t skip_bom(std::string_view text);

/// String.prototype.trim() leaves nothing, for text that is UTF-8 or nearly so.
bool is_blank(std::string_view text);

}  // namespace arborfs::fuzz
