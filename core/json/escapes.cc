#include "core/json/escapes.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/json/text_bytes.h"

namespace arborfs::json {

namespace {

constexpr ByteSets kSets("\\", "\"/bfnrt");
static_assert(has_same_bytes(kSets, kSimpleEscapes));
constexpr std::size_t kAtOnce = 32;

/// True if `u` points to the `u` of a \uXXXX escape.
bool is_number_escape(const char* u) {
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
bool are_number_escapes(const char* block, std::uint64_t marks) {
  for (; marks != 0; marks &= marks - 1) {
    if (!is_number_escape(block + std::countr_zero(marks))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool has_valid_escapes(std::string_view text) {
  std::array<Marks<2>, kAtOnce> marks;
  EscapedBytes escaped;
  for (std::size_t base = 0; base < text.size(); base += kAtOnce * kMarkedBytes) {
    const std::string_view piece = text.substr(base, kAtOnce * kMarkedBytes);
    mark(piece, kSets, marks.data());
    for (std::size_t i = 0; i < marks_for(piece.size()); ++i) {
      const auto [backslashes, letters] = marks[i];
      const std::uint64_t others = escaped.among(backslashes) & ~(backslashes | letters);
      if (!are_number_escapes(piece.data() + i * kMarkedBytes, others)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace arborfs::json
