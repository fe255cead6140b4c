#include "core/base/columns.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/base/column_ranges.h"

namespace arborfs {
namespace {

template <std::size_t N>
bool is_in(const ColumnRange (&ranges)[N], std::uint32_t code) {
  const auto* above =
      std::upper_bound(std::begin(ranges), std::end(ranges), code,
                       [](std::uint32_t wanted, const ColumnRange& range) { return wanted < range.first; });
  return above != std::begin(ranges) && code <= std::prev(above)->last;
}

struct Character {
  std::size_t length;
  std::size_t columns;
};

Character next_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return {1, 1};
  }
  const std::size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  const std::size_t length = std::min(wanted, text.size());
  std::uint32_t code = wanted == 1 ? first : first & (0x7fU >> wanted);
  for (std::size_t i = 1; i < length; ++i) {
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  return {length, is_in(kWithoutColumns, code) ? 0U : is_in(kWide, code) ? 2U : 1U};
}

/// The bytes of the longest beginning that takes at most so many columns.
std::size_t bytes_in(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = next_character(text.substr(at));
    if (used + character.columns > columns) {
      break;
    }
    used += character.columns;
    at += character.length;
  }
  return at;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character character = next_character(text);
    columns += character.columns;
    text.remove_prefix(character.length);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) {
    return std::string(text);
  }
  return columns == 0 ? "" : std::string(text.substr(0, bytes_in(text, columns - 1))) + "…";
}

std::string cut_middle(std::string_view text, std::size_t columns) {
  constexpr std::size_t kLeastForBoth = 12;
  const std::size_t all = columns_of(text);
  if (all <= columns || columns < kLeastForBoth) {
    return cut(text, columns);
  }
  const std::size_t behind = (columns - 1) / 3;
  const std::size_t before = columns - 1 - behind;
  std::size_t end = bytes_in(text, all - behind);
  if (columns_of(text.substr(end)) > behind) {  // a wide character stands across the place of the cut
    end += next_character(text.substr(end)).length;
  }
  return std::string(text.substr(0, bytes_in(text, before))) + "…" + std::string(text.substr(end));
}

std::vector<std::string> lines_of_columns(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view blanks = text.substr(0, begin);
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t wide = columns_of(word);
    if (!word.empty() && used > 0 && used + blanks.size() + wide > columns) {
      lines.emplace_back(word);
      used = wide;
    } else if (!word.empty()) {
      lines.back().append(blanks).append(word);
      used += blanks.size() + wide;
    }
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace arborfs
