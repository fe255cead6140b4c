// Checks the escapes in JSON text, many bytes at a time. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/simd_classify.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {

/// Bytes that must be readable after the text; their values do not matter.
inline constexpr std::size_t kEscapePadding = 64;
static_assert(kEscapePadding >= kMarkPadding);

/// True if every backslash starts one of JSON's escapes or is escaped by the one before it. All backslashes in `text`
/// must be inside terminated strings. Escaped lone surrogates are valid (RFC 8259, 8.2).
bool has_valid_escapes(std::string_view text);

/// The bytes that may follow the backslash in a two-byte escape, which is any escape but \u.
inline constexpr ByteSets kSimpleEscapes("\"\\/bfnrt");

/// True if `u` points to the `u` of a \uXXXX escape.
inline bool is_number_escape(const char* u) {
  constexpr std::size_t kHexDigits = 4;
  return *u == 'u' && std::all_of(u + 1, u + 1 + kHexDigits, [](char c) { return hex_value(c) >= 0; });
}

/// Finds the escaped bytes: those that follow a backslash that starts an escape.
class EscapedBytes {
 public:
  /// Marks the escaped bytes among the next 64; `backslashes` marks the backslashes. Call it for each block in order.
  /// For a run of backslashes that starts at an odd position, the addition carries to the position after the run. The
  /// parity of that position then tells whether the length of the run is even or odd.
  std::uint64_t among(std::uint64_t backslashes) {
    constexpr std::uint64_t kEven = 0x5555555555555555;
    backslashes &= ~is_first_escaped_;
    const std::uint64_t followers = backslashes << 1U | is_first_escaped_;
    const std::uint64_t odd_starts = backslashes & ~kEven & ~followers;
    const std::uint64_t sum = odd_starts + backslashes;
    is_first_escaped_ = sum < backslashes ? 1 : 0;
    return (kEven ^ sum << 1U) & followers;
  }

 private:
  std::uint64_t is_first_escaped_ = 0;  // 1 if the first byte of the next block is escaped, else 0
};

/// True if every byte that `marks` marks among the 64 at `block` is the `u` of a \uXXXX escape.
inline bool are_number_escapes(const char* block, std::uint64_t marks) {
  for (; marks != 0; marks &= marks - 1) {
    if (!is_number_escape(block + std::countr_zero(marks))) {
      return false;
    }
  }
  return true;
}

}  // namespace arborfs::json
