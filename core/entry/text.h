// Text as people read it, and the rules that keep it safe and bounded: terminal escapes and other control characters
// are made visible, not sent (CONTRACT.md 2.5, FAILURES.md S1, S4). Pure functions, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/simd_classify.h"
#include "core/log/log_index.h"

/// Characters that must not reach a terminal or a file name as they are, and a scanner that replaces them with a
/// spelling.
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

/// Finds the bytes in care_table(""), many at once.
class CareSearch : public ByteSearch {
 public:
  explicit CareSearch(std::string_view text);
};

/// Finds the bytes that a policy examines, one by one.
template <class Policy>
class TableSearch {
 public:
  explicit TableSearch(std::string_view text) : text_(text) {}
  [[nodiscard]] std::size_t next(std::size_t at) const {
    while (at < text_.size() && !Policy::kCare[static_cast<unsigned char>(text_[at])]) {
      ++at;
    }
    return at;
  }

 private:
  std::string_view text_;
};

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
  std::size_t run = 0;
  Buffer buffer;
  std::conditional_t<Policy::kBlocks, CareSearch, TableSearch<Policy>> search(wtf8);
  for (std::size_t at = search.next(0); at < wtf8.size();) {
    const Char c = decode(wtf8, at);
    const std::string_view spelling = Policy::spell(c, buffer);
    if (spelling.data() != nullptr) {
      put(wtf8.substr(run, at - run));
      put(spelling);
      run = at + c.length;
    }
    at = search.next(at + c.length);
  }
  put(wtf8.substr(run));
}

}  // namespace arborfs::chars

namespace arborfs {

class RecordRenderer;  // record_renderer.h

/// Entries longer than this are not parsed for their text, which is one line that says so. The same holds for those
/// over 8 MiB with more than half a million values, which would take many times their size in memory.
inline constexpr std::uint64_t kMaxRenderedEntry = std::uint64_t{64} << 20U;

/// The text of an entry of `length` bytes at `offset` of a log; does not read the entry if it is too long. `length` is
/// LogIndex::length; lengths that do not fit in Entry::length all give the same text. Errors: stale, io.
Result<std::string> read_text(const RecordRenderer& renderer, const LogSource& log, EntryType type,
                              std::uint64_t offset, std::uint64_t length);
/// Appends the text of an entry longer than kMaxRenderedEntry.
void render_too_long(std::uint64_t length, std::string& out);
/// The size of the text that render_too_long appends.
std::uint64_t too_long_size(std::uint64_t length);
/// The first words of it.
std::string first_words_of_too_long(std::uint64_t length, std::size_t columns);

/// The first words of a text as one line for draw_tree and listings, at most `columns` characters; `text` is the
/// beginning of an unfiltered text.
std::string first_line_of(std::string_view text, std::size_t columns);

/// Shows control characters except newline and tab, C1, bidirectional and zero-width characters as \u{..} or ^X; bytes
/// that are not UTF-8 and lone surrogates as U+FFFD.
std::string visible(std::string_view wtf8);
/// The same on one line: newlines and tabs become spaces; cut to `columns` characters with an ellipsis.
std::string visible_line(std::string_view wtf8, std::size_t columns);

/// A line that opens or closes a block of code in Markdown: three or more backticks or tildes (CommonMark).
struct CodeFence {
  std::size_t indent = 0;  // spaces
  char character = '`';
  std::size_t length = 0;
  std::string_view info;  // the words after it, without white space around them

  /// True if it closes a block that `opened` opened.
  [[nodiscard]] bool closes(const CodeFence& opened) const {
    return character == opened.character && length >= opened.length && info.empty();
  }
};

/// The fence that a line is, whatever its indentation; nothing for another line.
inline std::optional<CodeFence> code_fence_in(std::string_view line) {
  constexpr std::size_t kShortest = 3;
  constexpr std::string_view kBlank = " \t";
  CodeFence fence;
  fence.indent = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) {
    return std::nullopt;
  }
  fence.character = line[0];
  fence.length = std::min(line.find_first_not_of(fence.character), line.size());
  line.remove_prefix(fence.length);
  const std::size_t begin = std::min(line.find_first_not_of(kBlank), line.size());
  fence.info = line.substr(begin, std::max(line.find_last_not_of(kBlank) + 1, begin) - begin);
  const bool is_inline_code = fence.character == '`' && fence.info.find('`') != std::string_view::npos;
  return fence.length < kShortest || is_inline_code ? std::nullopt : std::optional(fence);
}

struct CodeBlock {
  std::string language;  // the first word after the fence, "" for none
  std::string text;      // its lines, each with its newline
};

/// The code of a Markdown text: the blocks between fences of three or more backticks or tildes, by the rules of
/// CommonMark: a block ends at a fence of the same character that is at least as long, or at the end of the text. A
/// fence may be indented by any number of spaces, as in a list; that many are removed from the lines of its block.
std::vector<CodeBlock> code_blocks(std::string_view markdown);

/// The text without the elements `<name>…</name>` and `<name …>…</name>` of these names, and without white space at its
/// ends. An element that does not end takes the rest of the text with it.
std::string without_elements(std::string_view text, std::span<const std::string_view> names);

/// What the first element of this name contains, without white space at its ends; "" if there is none.
std::string_view element_in(std::string_view text, std::string_view name);

}  // namespace arborfs
