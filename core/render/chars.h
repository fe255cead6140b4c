// Characters that must not reach a terminal or a file name as they are, and a scanner that replaces them with a
// spelling (FAILURES.md S1, S4). Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arborfs::chars {

struct Char {
  char32_t code = 0xFFFD;
  std::uint32_t length = 1;  // bytes; of a maximal ill-formed part if not valid
  bool valid = false;        // false for ill-formed bytes and for surrogates (code is then the surrogate)
};

/// The character that starts at `at`, which must be inside `text`.
Char decode(std::string_view text, std::size_t at);

/// C0 (newline and tab included), DEL, C1.
bool is_control(char32_t code);
/// Bidirectional controls, zero-width characters except U+200D, tag characters.
bool is_invisible(char32_t code);
/// White space beyond ASCII, line separators included.
bool is_wide_space(char32_t code);

/// Writes `code` to `out` in lower-case hex, at least `digits` digits; returns the end.
char* put_hex(char32_t code, int digits, char* out);

using Buffer = std::array<char, 16>;
using CareTable = std::array<bool, 256>;

/// The first bytes of characters that may need a spelling, in text known to be WTF-8, and the bytes in `more`.
constexpr CareTable care_table(std::string_view more) {
  CareTable table{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) {
    table[byte] = byte != '\n' && byte != '\t';
  }
  for (const unsigned byte : {0x7FU, 0xC2U, 0xD8U, 0xE1U, 0xE2U, 0xEDU, 0xEFU, 0xF3U}) {
    table[byte] = true;
  }
  for (const char byte : more) {
    table[static_cast<unsigned char>(byte)] = true;
  }
  return table;
}

/// How many of the first bytes can be skipped at once, since none of them is in care_table(""): all up to the first
/// that is, or to the last 63.
std::size_t plain_bytes(std::string_view text);

struct LineCount {
  std::size_t all = 1;  // number of newlines + 1
  std::size_t empty = 0;
};
LineCount count_lines(std::string_view text);

/// Policies of scan(): kCare has the bytes to examine, spell() returns the replacement of a character, or a view
/// without data to keep the character. kEscapes: characters that JSON escapes with a letter are escaped again.
struct TextPolicy {  // keeps newlines and tabs
  static constexpr bool kBlocks = true;
  static constexpr bool kEscapes = false;
  static constexpr CareTable kCare = care_table("");
  static std::string_view spell(const Char& c, Buffer& buffer);
};
struct LinePolicy {  // turns newlines and tabs into spaces
  static constexpr bool kBlocks = false;
  static constexpr bool kEscapes = false;
  static constexpr CareTable kCare = care_table("\n\t");
  static std::string_view spell(const Char& c, Buffer& buffer);
};
struct JsonPolicy {  // inside a JSON string literal, both valid JSON and readable
  static constexpr bool kBlocks = false;
  static constexpr bool kEscapes = true;
  static constexpr CareTable kCare = care_table("\n\t\"\\");
  static std::string_view spell(const Char& c, Buffer& buffer);
};

/// Calls put(piece) with parts of `wtf8` and with spellings, in order.
template <class Policy, class Put>
void scan(std::string_view wtf8, Put&& put) {
  const std::size_t size = wtf8.size();
  std::size_t run = 0;
  std::size_t at = 0;
  Buffer buffer;
  while (at < size) {
    if constexpr (Policy::kBlocks) {
      at += plain_bytes(wtf8.substr(at));
    }
    while (at < size && !Policy::kCare[static_cast<unsigned char>(wtf8[at])]) {
      ++at;
    }
    if (at < size) {
      const Char c = decode(wtf8, at);
      const std::string_view spelling = Policy::spell(c, buffer);
      if (spelling.data() != nullptr) {
        put(wtf8.substr(run, at - run));
        put(spelling);
        run = at + c.length;
      }
      at += c.length;
    }
  }
  put(wtf8.substr(run));
}

}  // namespace arborfs::chars
