// The escapes of JSON text, many bytes at a time. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/simd_classify.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {

/// Bytes that must be readable behind the text, of any value.
inline constexpr std::size_t kEscapePadding = 64;
static_assert(kEscapePadding >= kMarkPadding);

/// True when every backslash starts one of JSON's escapes or is escaped by the one before it. For text whose
/// backslashes all stand in strings that end. Escaped halves of surrogate pairs may stand alone (RFC 8259, 8.2).
bool has_valid_escapes(std::string_view text);

/// What may follow the backslash of an escape of two bytes, which are all but \u.
inline constexpr ByteSets kSimpleEscapes("\"\\/bfnrt");

/// The `u` of an escape of six bytes stands at `u`.
inline bool is_number_escape(const char* u) {
  constexpr std::size_t kHexDigits = 4;
  return *u == 'u' && std::all_of(u + 1, u + 1 + kHexDigits, [](char c) { return hex_value(c) >= 0; });
}

/// Tells which bytes are escaped: follow a backslash that starts an escape.
class EscapedBytes {
 public:
  /// Marks those among the next 64 bytes, of which `backslashes` marks the backslashes; called in order. A run of
  /// backslashes is added up: the carry leaves it at its end, and on an even or odd place tells whether the run is of
  /// even or odd length.
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
  std::uint64_t is_first_escaped_ = 0;  // the first byte of the next 64: 1 or 0
};

/// True when the escaped bytes that `marks` marks among 64 are each the `u` of an escape.
inline bool are_number_escapes(const char* block, std::uint64_t marks) {
  for (; marks != 0; marks &= marks - 1) {
    if (!is_number_escape(block + std::countr_zero(marks))) {
      return false;
    }
  }
  return true;
}

}  // namespace arborfs::json
