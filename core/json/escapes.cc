#include "core/json/escapes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace arborfs::json {

namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kHexDigits = 4;

enum class Escape : std::uint8_t { none, simple, unicode };

constexpr std::array<Escape, 256> kEscapes = [] {
  std::array<Escape, 256> table{};
  for (const char c : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'}) {
    table[static_cast<unsigned char>(c)] = Escape::simple;
  }
  table['u'] = Escape::unicode;
  return table;
}();

// Bit i is set where block[i] is a backslash.
std::uint64_t backslashes(const char* block) {
  std::uint64_t mask = 0;
#ifdef __SSE2__
  for (std::size_t i = 0; i < kBlock; i += sizeof(__m128i)) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    mask |= std::uint64_t{static_cast<std::uint32_t>(found)} << i;
  }
#else
  for (std::size_t i = 0; i < kBlock; ++i) {
    mask |= std::uint64_t{block[i] == '\\'} << i;
  }
#endif
  return mask;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

// `behind` is what follows the backslash.
bool is_escape(const char* behind) {
  const Escape escape = kEscapes[static_cast<unsigned char>(*behind)];
  return escape == Escape::simple ||
         (escape == Escape::unicode && std::all_of(behind + 1, behind + 1 + kHexDigits, is_hex));
}

}  // namespace

bool has_valid_escapes(std::string_view text) {
  bool is_first_escaped = false;  // of the block
  for (std::size_t base = 0; base < text.size(); base += kBlock) {
    const char* const block = text.data() + base;
    std::uint64_t mask = backslashes(block);
    if (text.size() - base < kBlock) {
      mask &= (std::uint64_t{1} << (text.size() - base)) - 1;
    }
    mask &= is_first_escaped ? ~std::uint64_t{1} : ~std::uint64_t{0};
    is_first_escaped = false;
    while (mask != 0) {
      const int at = std::countr_zero(mask);
      if (!is_escape(block + at + 1)) {
        return false;
      }
      is_first_escaped = at == kBlock - 1;
      mask &= ~(std::uint64_t{3} << at);
    }
  }
  return true;
}

}  // namespace arborfs::json
