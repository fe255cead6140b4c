#include "core/json/utf8.h"

#include <locale.h>
#include <simdjson.h>
#include <wctype.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/json/text_bytes.h"

namespace arborfs::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

unsigned byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

// How many bytes follow a lead byte, and the valid range of the first of them (Unicode table 3-7).
struct Lead {
  unsigned followers;
  unsigned low = 0x80;
  unsigned high = 0xBF;
};

Lead lead_of(unsigned byte) {
  if (byte >= 0xC2 && byte <= 0xDF) {
    return {1};
  }
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {2, byte == 0xE0 ? 0xA0U : 0x80U, byte == 0xED ? 0x9FU : 0xBFU};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {3, byte == 0xF0 ? 0x90U : 0x80U, byte == 0xF4 ? 0x8FU : 0xBFU};
  }
  return {0};
}

struct Part {
  std::size_t length;
  bool well_formed;
};

// The character at `i`, or the maximal ill-formed part that starts there.
Part part_at(std::string_view bytes, std::size_t i) {
  if (byte_at(bytes, i) < 0x80) {
    return {1, true};
  }
  Lead lead = lead_of(byte_at(bytes, i));
  if (lead.followers == 0) {
    return {1, false};
  }
  std::size_t length = 1;
  for (unsigned k = 0; k < lead.followers; ++k, ++length) {
    if (i + length >= bytes.size() || byte_at(bytes, i + length) < lead.low || byte_at(bytes, i + length) > lead.high) {
      return {length, false};
    }
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return {length, true};
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  return simdjson::validate_utf8(bytes.data(), bytes.size());
}

std::string as_utf8(std::string bytes) {
  return is_valid_utf8(bytes) ? std::move(bytes) : decode_utf8(bytes);
}

std::string decode_wtf8(std::string_view bytes) {
  std::string out;
  const char* begin = bytes.data();
  const char* const end = begin + bytes.size();
  for (const char* p = begin; p != end; ++p) {
    if (is_surrogate_form(p, end)) {
      out += decode_utf8({begin, static_cast<std::size_t>(p - begin)});
      out.append(p, 3);
      begin = p + 3;
      p += 2;
    }
  }
  return out += decode_utf8({begin, static_cast<std::size_t>(end - begin)});
}

std::string_view whole_characters(std::string_view text, std::size_t most) {
  std::size_t end = std::min(most, text.size());
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

std::size_t cut_at_end(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(bytes.size(), 3); ++back) {
    const unsigned byte = byte_at(bytes, bytes.size() - back);
    if ((byte & 0xC0U) != 0x80U) {
      return lead_of(byte).followers >= back ? back : 0;
    }
  }
  return 0;
}

std::string decode_utf8(std::string_view bytes) {
  if (is_valid_utf8(bytes)) {
    return std::string(bytes);
  }
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 16);
  std::size_t run = 0;
  std::size_t i = 0;
  while (i < bytes.size()) {
    const Part part = part_at(bytes, i);
    if (!part.well_formed) {
      out.append(bytes, run, i - run).append(kReplacement);
      run = i + part.length;
    }
    i += part.length;
  }
  return out.append(bytes, run);
}

std::string decode_utf16le(std::string_view bytes) {
  const auto unit = [bytes](std::size_t i) {
    return static_cast<char32_t>(byte_at(bytes, 2 * i) | (byte_at(bytes, 2 * i + 1) << 8));
  };
  const std::size_t units = bytes.size() / 2;
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < units; ++i) {
    const char32_t c = unit(i);
    if (is_high_surrogate(c) && i + 1 < units && is_low_surrogate(unit(i + 1))) {
      append_code_point(out, join_surrogates(c, unit(++i)));
    } else if (is_high_surrogate(c) || is_low_surrogate(c)) {
      out.append(kReplacement);
    } else {
      append_code_point(out, c);
    }
  }
  return out;
}

std::string replace_lone_surrogates(std::string_view wtf8) {
  std::string out(wtf8);
  for (std::size_t i = out.find('\xED'); i != std::string::npos; i = out.find('\xED', i + 1)) {
    if (is_surrogate_form(out.data() + i, out.data() + out.size())) {
      out.replace(i, kReplacement.size(), kReplacement);
    }
  }
  return out;
}

std::size_t utf16_length(std::string_view wtf8) {
  std::size_t units = 0;
  for (const char c : wtf8) {
    const auto byte = static_cast<unsigned char>(c);
    units += (byte & 0xC0) != 0x80;  // every lead byte is one unit
    units += byte >= 0xF0;           // and one more beyond the BMP
  }
  return units;
}

}  // namespace arborfs::json

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

/// The code point of a well-formed character of more than one byte.
std::uint32_t code_point_of(std::string_view character) {
  std::uint32_t code = static_cast<std::uint8_t>(character[0]) & (0x7FU >> character.size());
  for (const char c : character.substr(1)) {
    code = code << 6U | (static_cast<std::uint8_t>(c) & 0x3FU);
  }
  return code;
}

}  // namespace

void append_folded(std::string_view text, std::string& out) {
  const auto is_ascii = [](char c) { return static_cast<std::uint8_t>(c) < 0x80; };
  while (!text.empty()) {
    const auto run = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_ascii) - text.begin());
    const auto from = out.insert(out.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(run));
    std::transform(from, out.end(), from, fold_ascii);
    text.remove_prefix(run);
    if (text.empty()) {
      return;
    }
    const json::Part part = json::part_at(text, 0);
    const std::string_view bytes = text.substr(0, part.length);
    const std::uint32_t code = part.well_formed ? code_point_of(bytes) : 0;
    if (const std::uint32_t to = part.well_formed ? fold(code) : 0; to != code) {
      json::append_code_point(out, static_cast<char32_t>(to));
    } else {
      out += bytes;
    }
    text.remove_prefix(part.length);
  }
}

std::string folded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_folded(text, out);
  return out;
}

}  // namespace arborfs
