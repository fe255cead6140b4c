// The agents' lenient reader in its plainest form: the whole text in memory, one pass, no resuming, no fast path
// (omp/FORMAT.md A1 to A8). The index is compared with it.
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
  std::uint64_t malformed = 0;  // counted as 18 does
};

/// The values of `text` from `begin` on; offsets count from the start of the text.
ReferenceReading read_leniently(std::string_view text, std::size_t begin);

/// The position after the BOM, if there is one.
std::size_t skip_bom(std::string_view text);

/// True if String.prototype.trim() leaves nothing, for text that is UTF-8 or nearly so.
bool is_blank(std::string_view text);

}  // namespace arborfs::fuzz
