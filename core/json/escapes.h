// The escapes of JSON text, many bytes at a time. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/byte_marks.h"
#include "core/json/text_bytes.h"

namespace arborfs::json {

/// Bytes that must be readable behind the text, of any value.
inline constexpr std::size_t kEscapePadding = 64;

/// True when every backslash starts one of JSON's escapes or is escaped by the one before it. For text whose
/// backslashes all stand in strings that end. Escaped halves of surrogate pairs may stand alone (RFC 8259, 8.2).
bool has_valid_escapes(std::string_view text);

/// What may follow the backslash of an escape of two bytes, which are all but \u.
inline constexpr ByteSet kSimpleEscapes("\"\\/bfnrt");

/// What follows the backslash of an escape.
inline bool is_escape(const char* behind) {
  constexpr std::size_t kHexDigits = 4;
  return kSimpleEscapes.has(*behind) ||
         (*behind == 'u' && std::all_of(behind + 1, behind + 1 + kHexDigits, [](char c) { return hex_value(c) >= 0; }));
}

/// Tells which backslashes start escapes, and goes through these.
class EscapeWalk {
 public:
  /// Calls take(i), i being the place of the backslash in the block, for each escape that starts in the 64 bytes at
  /// `block`; false when one is none of JSON's. `backslashes` marks them; blocks are given in order.
  template <class Take>
  bool step(const char* block, std::uint64_t backslashes, Take take) {
    backslashes &= ~is_first_escaped_;
    is_first_escaped_ = 0;
    while (backslashes != 0) {
      const auto at = static_cast<unsigned>(std::countr_zero(backslashes));
      if (!is_escape(block + at + 1)) {
        return false;
      }
      take(at);
      is_first_escaped_ = at == kMarkedBytes - 1 ? 1 : 0;
      backslashes &= ~(std::uint64_t{3} << at);
    }
    return true;
  }

  /// Instead of step(): marks what follows such backslashes. A run of them is added up: the carry leaves it at its end,
  /// and on an even or odd place tells whether the run is of even or odd length.
  std::uint64_t escaped(std::uint64_t backslashes) {
    constexpr std::uint64_t kEven = 0x5555555555555555;
    backslashes &= ~is_first_escaped_;
    const std::uint64_t followers = backslashes << 1U | is_first_escaped_;
    const std::uint64_t odd_starts = backslashes & ~kEven & ~followers;
    const std::uint64_t sum = odd_starts + backslashes;
    is_first_escaped_ = sum < backslashes ? 1 : 0;
    return (kEven ^ sum << 1U) & followers;
  }

 private:
  std::uint64_t is_first_escaped_ = 0;  // the first byte of the block: 1 or 0
};

}  // namespace arborfs::json
