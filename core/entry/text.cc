#include "core/entry/text.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/base/simd_classify.h"
#include "core/base/words.h"
#include "core/entry/record_renderer.h"
#include "core/entry/value_text.h"
#include "core/json/utf8.h"

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

CareSearch::CareSearch(std::string_view text) : ByteSearch(text, kPlainExcept) {}

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

namespace arborfs {
namespace {

constexpr std::uint32_t kNoLength = 0xFFFFFFFF;
constexpr std::string_view kFence = "```";

std::string too_long_text(std::uint64_t length) {
  const std::string size = length < kNoLength ? std::to_string(length) + " bytes" : "4 GiB or more";
  return "This entry of " + size + " is too long to be shown as text; its JSON is in entries/.\n";
}

}  // namespace

void render_too_long(std::uint64_t length, std::string& out) {
  out += too_long_text(length);
}

std::uint64_t too_long_size(std::uint64_t length) {
  return too_long_text(length).size();
}

Result<std::string> read_text(const RecordRenderer& renderer, const LogSource& log, EntryType type,
                              std::uint64_t offset, std::uint64_t length) {
  if (length > kMaxRenderedEntry) {
    std::string out;
    render_too_long(length, out);
    return out;
  }
  ASSIGN_OR_RETURN(const auto raw, log.read(offset, length));
  std::string out;
  renderer.render(type, raw, out);
  return out;
}

std::string first_words_of_too_long(std::uint64_t length, std::size_t columns) {
  return visible_line(without_end_newlines(too_long_text(length)), columns);
}

namespace {

/// The first lines of a text but for its fences; about `enough` bytes.
std::string without_fences(std::string_view text, std::size_t enough) {
  std::string lines;
  while (!text.empty() && lines.size() < enough) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!code_fence_in(line)) {
      lines.append(line.substr(0, enough)).append("\n");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string first_line_of(std::string_view text, std::size_t columns) {
  constexpr std::size_t kLongestColumn = 16;  // bytes
  std::string_view head = without_end_newlines(text);
  for (;;) {
    head.remove_prefix(std::min(head.find_first_not_of(" \n\t>"), head.size()));
    if (!head.starts_with(kFence)) {
      const std::string lines = without_fences(head, columns * kLongestColumn);
      return visible_line(without_end_newlines(std::string_view(lines)), columns);
    }
    const std::string_view fence = head.substr(0, std::min(head.find_first_not_of('`'), head.size()));
    const std::size_t first_line = head.find('\n');
    head.remove_prefix(first_line == std::string_view::npos ? fence.size() : first_line);
    head = head.substr(0, head.find("\n" + std::string(fence)));
  }
}

std::vector<CodeBlock> code_blocks(std::string_view markdown) {
  std::vector<CodeBlock> blocks;
  std::optional<CodeFence> opened;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    const auto fence = code_fence_in(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    if (!opened && fence) {
      opened = fence;
      blocks.push_back({std::string(fence->info.substr(0, fence->info.find_first_of(" \t"))), ""});
    } else if (opened && fence && fence->closes(*opened)) {
      opened.reset();
    } else if (opened) {
      line.remove_prefix(std::min({opened->indent, line.find_first_not_of(' '), line.size()}));
      blocks.back().text.append(line).append("\n");
    }
  }
  return blocks;
}

}  // namespace arborfs

namespace arborfs {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

struct Element {
  std::string_view content;
  std::size_t end = 0;  // behind it
};

/// The element of this name that begins at `at`.
std::optional<Element> element_at(std::string_view text, std::size_t at, std::string_view name) {
  const std::string_view behind = text.substr(at);
  const std::size_t opened = 1 + name.size();
  const bool is_named = behind.starts_with('<') && behind.substr(1).starts_with(name) && behind.size() > opened &&
                        (behind[opened] == '>' || kSpace.find(behind[opened]) != std::string_view::npos);
  const std::size_t begin = is_named ? behind.find('>', opened) : std::string_view::npos;
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string closing = "</" + std::string(name) + ">";
  const std::size_t end = behind.find(closing, begin);
  const std::string_view content = behind.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1);
  return Element{content, end == std::string_view::npos ? text.size() : at + end + closing.size()};
}

}  // namespace

std::string without_elements(std::string_view text, std::span<const std::string_view> names) {
  std::string kept;
  std::size_t from = 0;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    std::optional<Element> found;
    for (std::size_t i = 0; i < names.size() && !found; ++i) {
      found = element_at(text, at, names[i]);
    }
    if (!found) {
      ++at;
      continue;
    }
    kept += text.substr(from, at - from);
    at = from = found->end;
  }
  kept += text.substr(std::min(from, text.size()));
  return std::string(stripped(kept));
}

std::string_view element_in(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (const auto found = element_at(text, at, name)) {
      return stripped(found->content);
    }
  }
  return {};
}

}  // namespace arborfs
