#include "core/json/fold.h"

#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace arborfs {

namespace {

/// Unicode's case mappings, whatever the user's locale is; null if the C library has none.
locale_t unicode() {
  static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
  return locale;
}

char fold_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Eight characters at once, one in each byte of a word.
using Eight = std::uint64_t;
constexpr Eight in_each(std::uint8_t byte) {
  return Eight{0x0101010101010101} * byte;
}

/// The same for eight ASCII characters.
Eight fold_ascii(Eight eight) {
  static_assert('a' - 'A' == 0x80 >> 2);
  const Eight from_a = eight + in_each(0x80 - 'A');  // has the upper bit of the bytes that are 'A' or more
  const Eight beyond_z = eight + in_each(0x80 - 'Z' - 1);
  return eight | ((from_a & ~beyond_z & in_each(0x80)) >> 2U);
}

/// Letters with several lower-case forms (σ and ς, k and the Kelvin sign) share one upper-case form.
std::uint32_t looked_up(std::uint32_t character) {
  if (unicode() == nullptr) {
    return character;
  }
  return static_cast<std::uint32_t>(::towlower_l(::towupper_l(static_cast<wint_t>(character), unicode()), unicode()));
}

/// The C library takes ten times as long for a character as all else that folding it costs.
std::uint32_t fold(std::uint32_t character) {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> made(0x10000);
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      made[i] = looked_up(i);
    }
    return made;
  }();
  return character < table.size() ? table[character] : looked_up(character);
}

std::size_t ascii_run(std::string_view text) {
  std::size_t end = 0;
  for (Eight eight = 0; end + sizeof eight <= text.size(); end += sizeof eight) {
    std::memcpy(&eight, text.data() + end, sizeof eight);
    if ((eight & in_each(0x80)) != 0) {
      break;
    }
  }
  while (end < text.size() && static_cast<std::uint8_t>(text[end]) < 0x80) {
    ++end;
  }
  return end;
}

/// Appends ASCII characters in their folded form.
void append_folded_ascii(std::string_view text, std::string& out) {
  std::size_t at = out.size();
  out += text;
  for (Eight eight = 0; at + sizeof eight <= out.size(); at += sizeof eight) {
    std::memcpy(&eight, out.data() + at, sizeof eight);
    eight = fold_ascii(eight);
    std::memcpy(out.data() + at, &eight, sizeof eight);
  }
  std::transform(out.begin() + static_cast<std::ptrdiff_t>(at), out.end(),
                 out.begin() + static_cast<std::ptrdiff_t>(at), [](char c) { return fold_ascii(c); });
}

struct Decoded {
  std::uint32_t character = 0;
  std::size_t length = 0;  // 0: the bytes are not UTF-8; the character is then 0
};

/// The character of more than one byte at the beginning of `text`.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : byte(0) >= 0xC2 ? 2 : 0;
  if (length == 0 || length > text.size()) {
    return {};
  }
  std::uint32_t character = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    character = character << 6U | (byte(i) & 0x3FU);
  }
  return {character, length};
}

void append_utf8(std::uint32_t character, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0U | character >> 6U);
    put(0x80U | (character & 0x3FU));
  } else if (character < 0x10000) {
    put(0xE0U | character >> 12U);
    put(0x80U | (character >> 6U & 0x3FU));
    put(0x80U | (character & 0x3FU));
  } else {
    put(0xF0U | character >> 18U);
    put(0x80U | (character >> 12U & 0x3FU));
    put(0x80U | (character >> 6U & 0x3FU));
    put(0x80U | (character & 0x3FU));
  }
}

}  // namespace

void append_folded(std::string_view text, std::string& out) {
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t run = ascii_run(text.substr(at)); run > 0) {
      append_folded_ascii(text.substr(at, run), out);
      at += run;
      continue;
    }
    const Decoded one = decode(text.substr(at));
    const std::uint32_t character = fold(one.character);
    if (character == one.character) {
      const std::size_t length = std::max<std::size_t>(one.length, 1);
      out += text.substr(at, length);
      at += length;
    } else {
      append_utf8(character, out);
      at += one.length;
    }
  }
}

std::string folded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_folded(text, out);
  return out;
}

}  // namespace arborfs
