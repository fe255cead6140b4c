// The names of names.h that are for reading rather than for distinguishing items: those made from titles.
#include <algorithm>
#include <string>

#include "core/render/chars.h"
#include "core/render/names.h"

namespace arborfs::names {
namespace {

constexpr std::size_t kSlugLimit = 60;

bool is_ascii_word(char32_t code) {
  return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9');
}

struct CodeRange {
  char32_t first;
  char32_t last;
};
/// Characters beyond ASCII that a slug leaves out: punctuation, symbols, emoji and private characters.
constexpr CodeRange kNoLetters[] = {
    {0x80, 0xA9},     {0xAB, 0xB4},       {0xB6, 0xB9},        {0xBB, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},
    {0x2000, 0x206F}, {0x20A0, 0x20CF},   {0x2100, 0x2BFF},    {0x3000, 0x3004}, {0x3008, 0x3020}, {0x3030, 0x3030},
    {0xE000, 0xF8FF}, {0xFE00, 0xFE6F},   {0xFF00, 0xFF0F},    {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65},
    {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF}, {0xE0000, 0x10FFFF},
};

bool slug_keeps(const chars::Char& c) {
  if (c.code < 0x80) {
    return c.valid && is_ascii_word(c.code);
  }
  if (!c.valid || chars::is_invisible(c.code) || chars::is_wide_space(c.code)) {
    return false;
  }
  return std::none_of(std::begin(kNoLetters), std::end(kNoLetters),
                      [&](const CodeRange& range) { return c.code >= range.first && c.code <= range.last; });
}

/// Lower case of ASCII, Latin-1, Greek and Cyrillic, the scripts that titles have.
char32_t to_lower(char32_t code) {
  const bool plus_32 = (code >= 'A' && code <= 'Z') || (code >= 0xC0 && code <= 0xDE && code != 0xD7) ||
                       (code >= 0x391 && code <= 0x3A9) || (code >= 0x410 && code <= 0x42F);
  if (plus_32) {
    return code + 32;
  }
  return code >= 0x400 && code <= 0x40F ? code + 80 : code;
}

/// The lower-case spelling of a kept character; only one- and two-byte characters change.
std::string lower_bytes(const chars::Char& c, std::string_view bytes) {
  const char32_t lower = to_lower(c.code);
  if (lower == c.code) {
    return std::string(bytes);
  }
  if (lower < 0x80) {
    return std::string(1, static_cast<char>(lower));
  }
  return {static_cast<char>(0xC0U | (lower >> 6U)), static_cast<char>(0x80U | (lower & 0x3FU))};
}

std::string strip(std::string name, std::string_view leading) {
  name.erase(0, std::min(name.find_first_not_of(leading), name.size()));
  name.resize(name.find_last_not_of('-') + 1);
  return name;
}

/// Kept characters as spelled by `spell`, everything else as '-', never two '-' in a row, at most `limit` bytes.
template <class Keeps, class Spell>
std::string dashed(std::string_view text, std::size_t limit, Keeps keeps, Spell spell) {
  std::string out;
  out.reserve(std::min(limit, text.size()));
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const chars::Char c = byte < 0x80 ? chars::Char{byte, 1, true} : chars::decode(text, at);
    const std::string unit = keeps(c) ? spell(c, text.substr(at, c.length)) : "-";
    at += c.length;
    if (unit == "-" && (out.empty() || out.back() == '-')) {
      continue;
    }
    if (out.size() + unit.size() > limit) {
      break;
    }
    out += unit;
  }
  return out;
}

}  // namespace

std::string slug(std::string_view title) {
  std::string name = strip(dashed(title, kSlugLimit, slug_keeps, lower_bytes), "-");
  return name.empty() ? "untitled" : name;
}

}  // namespace arborfs::names
