#include "core/render/chars.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/simd_classify.h"
#include "core/json/utf8.h"
#include "core/render/text.h"

namespace arborfs::chars {
namespace {

/// The bytes of care_table("").
constexpr std::string_view kCareBytes(
    "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0B\x0C\x0D\x0E\x0F\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C"
    "\x1D\x1E\x1F\x7F\xC2\xD8\xE1\xE2\xED\xEF\xF3",
    38);
constexpr ByteSets kPlainExcept(kCareBytes);
static_assert([] {
  for (unsigned byte = 0; byte < 0x100; ++byte) {
    if (kPlainExcept.has(static_cast<char>(byte)) != TextPolicy::kCare[byte]) {
      return false;
    }
  }
  return true;
}());
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// The smallest and largest second byte that may follow a lead byte; surrogates are allowed here.
struct Range {
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};
Range second_byte_of(unsigned char lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {};
  }
}

std::uint32_t length_of(unsigned char lead) {
  if (lead < 0xC2 || lead > 0xF4) {
    return 1;
  }
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

bool is_surrogate(char32_t code) {
  return code >= 0xD800 && code <= 0xDFFF;
}

std::string_view spell_hidden(const Char& c, Buffer& buffer) {
  if (!c.valid) {
    return kReplacement;
  }
  if (c.code < 0x20 || c.code == 0x7F) {
    buffer[0] = '^';
    buffer[1] = static_cast<char>(c.code ^ 0x40U);
    return {buffer.data(), 2};
  }
  if (!is_control(c.code) && !is_invisible(c.code)) {
    return {};
  }
  buffer[0] = '\\';
  buffer[1] = 'u';
  buffer[2] = '{';
  char* end = put_hex(c.code, 2, buffer.data() + 3);
  *end++ = '}';
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

char* put_unit(char32_t unit, char* out) {
  *out++ = '\\';
  *out++ = 'u';
  return put_hex(unit, 4, out);
}

/// The letter of JSON's short escape for a character, or 0.
char short_escape(char32_t code) {
  switch (code) {
    case '"':
    case '\\':
      return static_cast<char>(code);
    case '\b':
      return 'b';
    case '\t':
      return 't';
    case '\n':
      return 'n';
    case '\f':
      return 'f';
    case '\r':
      return 'r';
    default:
      return 0;
  }
}

struct OneLine {  // for text that may be ill-formed anywhere
  static constexpr bool kBlocks = false;
  static constexpr CareTable kCare = [] {
    CareTable table = care_table("\n\t");
    for (std::size_t byte = 0x80; byte < 0x100; ++byte) {
      table[byte] = true;
    }
    return table;
  }();
  static std::string_view spell(const Char& c, Buffer& buffer) { return LinePolicy::spell(c, buffer); }
};

struct AnyText : OneLine {
  static std::string_view spell(const Char& c, Buffer& buffer) { return TextPolicy::spell(c, buffer); }
};

}  // namespace

Char decode(std::string_view text, std::size_t at) {
  const unsigned char lead = byte_at(text, at);
  if (lead < 0x80) {
    return {lead, 1, true};
  }
  const std::uint32_t length = length_of(lead);
  if (length == 1) {
    return {};
  }
  char32_t code = lead & (0x7FU >> length);
  Range range = second_byte_of(lead);
  for (std::uint32_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || byte_at(text, at + i) < range.low || byte_at(text, at + i) > range.high) {
      return {0xFFFD, i, false};
    }
    code = (code << 6U) | (byte_at(text, at + i) & 0x3FU);
    range = {};
  }
  return {code, length, !is_surrogate(code)};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

bool is_invisible(char32_t code) {
  if (code < 0x200B) {
    return code == 0x061C || code == 0x180E;
  }
  if (code < 0x2070) {
    return (code <= 0x200F && code != 0x200D) || (code >= 0x202A && code <= 0x202E) || code >= 0x2060;
  }
  return code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F);
}

bool is_wide_space(char32_t code) {
  return code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

char* put_hex(char32_t code, int digits, char* out) {
  while (digits < 8 && (code >> (4U * static_cast<unsigned>(digits))) != 0) {
    ++digits;
  }
  for (int i = digits - 1; i >= 0; --i) {
    *out++ = "0123456789abcdef"[(code >> (4U * static_cast<unsigned>(i))) & 0xFU];
  }
  return out;
}

std::size_t plain_bytes(std::string_view text) {
  constexpr std::size_t kAtOnce = 4;
  std::array<Marks<1>, kAtOnce> marks;
  std::size_t at = 0;
  while (text.size() - at >= kMarkedBytes) {
    const std::size_t blocks = std::min((text.size() - at) / kMarkedBytes, kAtOnce);
    mark(text.substr(at, blocks * kMarkedBytes), kPlainExcept, marks.data());
    for (std::size_t i = 0; i < blocks; ++i, at += kMarkedBytes) {
      if (marks[i][0] != 0) {
        return at + static_cast<std::size_t>(std::countr_zero(marks[i][0]));
      }
    }
  }
  return at;
}

LineCount count_lines(std::string_view text) {
  constexpr std::size_t kLane = 16;
  using Lane [[gnu::vector_size(kLane)]] = char;
  using Mask [[gnu::vector_size(kLane)]] = signed char;
  constexpr std::size_t kRound = 255 * kLane;  // the most that one byte of a sum can count
  LineCount lines;
  if (text.empty() || text[0] == '\n') {
    ++lines.empty;
  }
  std::size_t at = 0;  // a newline at `i` ends a line; the next line is empty if i + 1 is a newline or the end
  while (text.size() - at > kLane) {
    const std::size_t stop = at + std::min(kRound, (text.size() - 1 - at) / kLane * kLane);
    Mask newlines{};
    Mask pairs{};
    for (; at < stop; at += kLane) {
      Lane here;
      Lane next;
      std::memcpy(&here, text.data() + at, kLane);
      std::memcpy(&next, text.data() + at + 1, kLane);
      newlines -= here == '\n';
      pairs -= (here == '\n') & (next == '\n');
    }
    for (std::size_t i = 0; i < kLane; ++i) {
      lines.all += static_cast<unsigned char>(newlines[i]);
      lines.empty += static_cast<unsigned char>(pairs[i]);
    }
  }
  for (; at < text.size(); ++at) {
    const bool newline = text[at] == '\n';
    lines.all += newline ? 1 : 0;
    lines.empty += newline && (at + 1 == text.size() || text[at + 1] == '\n') ? 1 : 0;
  }
  return lines;
}

std::string_view TextPolicy::spell(const Char& c, Buffer& buffer) {
  if (c.code == '\n' || c.code == '\t') {
    return {};
  }
  return spell_hidden(c, buffer);
}

std::string_view LinePolicy::spell(const Char& c, Buffer& buffer) {
  if (c.code == '\n' || c.code == '\t') {
    return " ";
  }
  return spell_hidden(c, buffer);
}

std::string_view JsonPolicy::spell(const Char& c, Buffer& buffer) {
  if (const char letter = short_escape(c.code)) {
    buffer[0] = '\\';
    buffer[1] = letter;
    return {buffer.data(), 2};
  }
  if (!c.valid && !is_surrogate(c.code)) {
    return kReplacement;
  }
  if (c.valid && !is_control(c.code) && !is_invisible(c.code)) {
    return {};
  }
  char* end = buffer.data();
  if (c.code > 0xFFFF) {
    end = put_unit(0xD800 + ((c.code - 0x10000) >> 10U), end);
    end = put_unit(0xDC00 + ((c.code - 0x10000) & 0x3FFU), end);
  } else {
    end = put_unit(c.code, end);
  }
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

}  // namespace arborfs::chars

namespace arborfs {

std::string visible(std::string_view wtf8) {
  std::string out;
  out.reserve(wtf8.size());
  const auto put = [&out](std::string_view piece) { out.append(piece); };
  if (simdjson::validate_utf8(wtf8)) {
    chars::scan<chars::TextPolicy>(wtf8, put);
  } else {
    chars::scan<chars::AnyText>(wtf8, put);
  }
  return out;
}

std::string visible_line(std::string_view wtf8, std::size_t columns) {
  constexpr std::size_t kLongestCharacter = 4;
  std::string out;
  const std::size_t enough = (columns + 1) * kLongestCharacter;
  const auto put = [&out](std::string_view piece) { out.append(piece); };
  chars::scan<chars::OneLine>(wtf8.substr(0, enough), put);
  std::size_t column = 0;
  std::size_t cut = 0;
  for (std::size_t at = 0; at < out.size(); at += chars::decode(out, at).length) {
    if (column + 1 == columns) {
      cut = at;
    }
    if (++column > columns) {
      return columns == 0 ? std::string() : out.substr(0, cut) + "…";
    }
  }
  return out;
}

}  // namespace arborfs
