#include "core/formats/claude/project_folder.h"

#include <cstdint>

#include "core/json/utf8.h"

namespace arborfs::claude {
namespace {

constexpr std::size_t kLongest = 200;  // of a name without a hash

bool is_plain(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9');
}

std::string base36(std::uint32_t number) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]);
    number /= 36;
  } while (number != 0);
  return digits;
}

/// Calls take(unit) for each UTF-16 unit of text in UTF-8.
template <class Take>
void each_unit(std::string_view text, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      point = point << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    }
    at += length;
    if (point >= 0x10000) {
      take(static_cast<char32_t>(0xD800 + ((point - 0x10000) >> 10U)));
      point = 0xDC00 + ((point - 0x10000) & 0x3FFU);
    }
    take(point);
  }
}

}  // namespace

std::string project_folder_of(std::string_view cwd) {
  std::string name;
  std::uint32_t hash = 0;
  each_unit(json::decode_utf8(cwd), [&](char32_t unit) {
    name += is_plain(unit) ? static_cast<char>(unit) : '-';
    hash = hash * 31 + unit;
  });
  if (name.size() <= kLongest) {
    return name;
  }
  const std::uint32_t magnitude = hash > INT32_MAX ? 0 - hash : hash;
  return name.substr(0, kLongest) + "-" + base36(magnitude);
}

}  // namespace arborfs::claude
