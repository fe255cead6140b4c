// Byte-level helpers for code that reads JSON text directly. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace arborfs::json {

inline bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The ASCII characters of JavaScript identifiers.
inline bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
inline bool is_word(char c) {
  return is_word_start(c) || is_digit(c);
}

/// The value of a hexadecimal digit, or -1.
inline int hex_value(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// The first byte in [p, end) that is special in a JSON string - a quote, a backslash or a control - or `end`.
inline const char* find_string_special(const char* p, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1f);
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                     _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hit)); mask != 0) {
      return p + std::countr_zero(mask);
    }
  }
#endif
  while (p != end && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20) {
    ++p;
  }
  return p;
}

/// True if the text is ASCII without a byte that is special in a JSON string. Quick for texts of a few words.
inline bool is_plain_string(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighBits = 0x80 * kOnes;
  std::uint64_t found = 0;
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = ' ' * kOnes;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    const auto below = [&](std::uint64_t bytes, std::uint64_t limit) { return bytes - limit * kOnes; };
    found |= word | below(word, 0x20) | below(word ^ ('"' * kOnes), 1) | below(word ^ ('\\' * kOnes), 1);
  }
  return (found & kHighBits) == 0;
}

/// Appends a code point as UTF-8, or a surrogate in its three-byte WTF-8 form.
inline void append_code_point(std::string& out, char32_t c) {
  const auto byte = [&out](char32_t b) { out.push_back(static_cast<char>(static_cast<unsigned char>(b))); };
  if (c < 0x80) {
    byte(c);
    return;
  }
  if (c < 0x800) {
    byte(0xC0 | (c >> 6));
  } else if (c < 0x10000) {
    byte(0xE0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3F));
  } else {
    byte(0xF0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3F));
    byte(0x80 | ((c >> 6) & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

inline bool is_high_surrogate(char32_t c) {
  return c >= 0xD800 && c <= 0xDBFF;
}
inline bool is_low_surrogate(char32_t c) {
  return c >= 0xDC00 && c <= 0xDFFF;
}
inline char32_t join_surrogates(char32_t high, char32_t low) {
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

/// True if the bytes at `p`, which must be before `end`, are the WTF-8 form of a surrogate.
inline bool is_surrogate_form(const char* p, const char* end) {
  return end - p >= 3 && static_cast<unsigned char>(p[0]) == 0xED && static_cast<unsigned char>(p[1]) >= 0xA0;
}

}  // namespace arborfs::json
