#include "core/render/raw_string.h"

#include <array>
#include <bit>
#include <charconv>

#include "core/base/simd_classify.h"
#include "core/json/escapes.h"
#include "core/json/json_cursor.h"

namespace arborfs {

namespace {

constexpr std::size_t kShortEscape = 2;
constexpr std::size_t kLongEscape = 6;  // \u and four digits
constexpr std::size_t kAtOnce = 32;     // marks at a time
static_assert(RawText::kPadding >= json::kEscapePadding);

/// DEL is the only ASCII control character in valid JSON, so only these bytes can start a character to examine.
constexpr ByteSets kCare("\x7F\xC2\xD8\xE1\xE2\xED\xEF\xF3");
static_assert([] {
  for (unsigned byte = 0x20; byte < 0x100; ++byte) {
    if (kCare.has(static_cast<char>(byte)) != chars::TextPolicy::kCare[byte]) {
      return false;
    }
  }
  return true;
}());

/// The bytes of escapes: the backslash, and after it n, the characters shown as one byte and those shown as two.
constexpr ByteSets kEscapes("\\", "n", "\"/t", "bfr");
static_assert(has_same_bytes(kEscapes, json::kSimpleEscapes));

/// Calls each(index, bits) for the marks of the bytes from `begin` to `end`; `bits` has no marks of other bytes.
template <class Each>
void each_mark(const std::vector<std::uint64_t>& marks, std::size_t begin, std::size_t end, Each each) {
  if (begin == end) {
    return;
  }
  const std::size_t last = (end - 1) / kMarkedBytes;
  std::uint64_t wanted = ~std::uint64_t{0} << (begin % kMarkedBytes);
  for (std::size_t i = begin / kMarkedBytes; i <= last; ++i) {
    if (i == last) {
      wanted &= ~std::uint64_t{0} >> (kMarkedBytes - 1 - (end - 1) % kMarkedBytes);
    }
    if (const std::uint64_t bits = marks[i] & wanted) {
      each(i, bits);
    }
    wanted = ~std::uint64_t{0};
  }
}

/// Calls each(place) for each marked byte from `begin` to `end`.
template <class Each>
void each_place(const std::vector<std::uint64_t>& marks, std::size_t begin, std::size_t end, Each each) {
  each_mark(marks, begin, end, [&each](std::size_t i, std::uint64_t bits) {
    for (; bits != 0; bits &= bits - 1) {
      each(i * kMarkedBytes + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  });
}

bool is_marked(const std::vector<std::uint64_t>& marks, std::size_t place) {
  return (marks[place / kMarkedBytes] >> (place % kMarkedBytes) & 1U) != 0;
}

/// The UTF-16 unit of a six-byte escape whose `u` is at `place`.
char32_t unit_at(std::string_view text, std::size_t place) {
  std::uint32_t unit = 0;
  const char* const digits = text.data() + place + 1;
  std::from_chars(digits, digits + 4, unit, 16);
  return unit;
}

/// True if a six-byte escape starts at `place`, which is the start of an escape or of a character.
bool is_long_escape(std::string_view text, std::size_t place, std::size_t end) {
  return end - place >= kLongEscape && text[place] == '\\' && text[place + 1] == 'u';
}

/// The character that is marked as odd at `place`; its length is that of its spelling in JSON.
chars::Char char_at(std::string_view text, std::size_t place, std::size_t end) {
  if (text[place] != 'u') {
    return chars::decode(text, place);
  }
  const char32_t unit = unit_at(text, place);
  const std::size_t next = place - 1 + kLongEscape;
  if (unit >= 0xD800 && unit < 0xDC00 && is_long_escape(text, next, end)) {
    const char32_t low = unit_at(text, next + 1);
    if (low >= 0xDC00 && low < 0xE000) {
      return {0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00), 2 * kLongEscape, true};
    }
  }
  return {unit, kLongEscape, unit < 0xD800 || unit >= 0xE000};
}

/// True for most of the odd characters that are shown as they are: dashes, quotes, arrows and similar characters
/// (U+2010 to U+2027, U+2080 to U+2FFF).
bool is_common(const char* at) {
  const auto byte = [at](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  return byte(0) == 0xE2 && (byte(1) > 0x81 || (byte(1) == 0x80 && byte(2) >= 0x90 && byte(2) <= 0xA7));
}

std::size_t utf8_size(char32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

}  // namespace

bool RawText::read(std::string_view text) {
  text_ = text;
  const std::size_t marks = marks_for(text.size());
  if (odd_.size() < marks) {
    for (auto* const kept : {&halved_, &newlines_, &odd_}) {  // odd_ last, because it is tested: memory may run out
      kept->resize(std::bit_ceil(marks));
    }
  }
  std::uint64_t numbers = 0;
  std::array<Marks<1>, kAtOnce> care;
  std::array<Marks<4>, kAtOnce> escapes;
  json::EscapedBytes escaped;
  for (std::size_t i = 0; i < marks; ++i) {
    if (i % kAtOnce == 0) {
      const std::string_view piece = text.substr(i * kMarkedBytes, kAtOnce * kMarkedBytes);
      mark(piece, kCare, care.data());
      mark(piece, kEscapes, escapes.data());
    }
    const auto [backslashes, newlines, others, doubles] = escapes[i % kAtOnce];
    const std::uint64_t behind = escaped.among(backslashes);
    const std::uint64_t unknown = behind & ~(backslashes | newlines | others | doubles);
    if (!json::are_number_escapes(text.data() + i * kMarkedBytes, unknown)) {
      return false;
    }
    newlines_[i] = behind & newlines;
    halved_[i] = behind & ~(unknown | doubles);
    odd_[i] = care[i % kAtOnce][0] | unknown;
    numbers |= unknown;
  }
  has_numbers_ = numbers != 0;
  return true;
}

bool RawString::has_number(char32_t code) const {
  bool found = false;
  if (text_ != nullptr && text_->has_numbers_) {
    const std::string_view text = text_->text_;
    each_place(text_->odd_, begin_, end_,
               [&](std::size_t place) { found = found || (text[place] == 'u' && unit_at(text, place) == code); });
  }
  return found;
}

bool RawString::has_newline() const {
  bool found = has_number('\n');
  if (text_ != nullptr) {
    each_mark(text_->newlines_, begin_, end_, [&found](std::size_t, std::uint64_t) { found = true; });
  }
  return found;
}

RawString RawString::without_end_newlines() const {
  RawString trimmed = *this;
  const auto ends_with_number = [&] {
    const std::size_t u = trimmed.end_ - kLongEscape + 1;
    return text_->has_numbers_ && is_marked(text_->odd_, u) && text_->text_[u] == 'u' &&
           unit_at(text_->text_, u) == '\n';
  };
  for (;;) {
    const std::size_t size = trimmed.end_ - trimmed.begin_;
    if (size >= kShortEscape && is_marked(text_->newlines_, trimmed.end_ - 1)) {
      trimmed.end_ -= kShortEscape;
    } else if (size >= kLongEscape && ends_with_number()) {
      trimmed.end_ -= kLongEscape;
    } else {
      return trimmed;
    }
  }
}

chars::LineCount RawString::lines() const {
  chars::LineCount lines;
  if (empty()) {
    lines.empty = 1;
    return lines;
  }
  std::size_t line = begin_;  // start of the current line
  each_place(text_->newlines_, begin_, end_, [&](std::size_t place) {
    ++lines.all;
    lines.empty += place == line + 1 ? 1 : 0;
    line = place + 1;
  });
  lines.empty += line == end_ ? 1 : 0;
  return lines;
}

std::string RawString::decoded() const {
  return skim::string_value('"' + std::string(literal()) + '"').value_or("");
}

template <class Policy>
std::uint64_t RawString::shown_size() const {
  if (empty()) {
    return 0;
  }
  const std::string_view text = text_->text_;
  std::uint64_t size = end_ - begin_;
  if constexpr (Policy::kEscapes) {
    each_place(text_->halved_, begin_, end_, [&](std::size_t place) { size -= text[place] == '/' ? 1 : 0; });
  } else {
    size -= count_marked(text_->halved_.data(), begin_, end_);
  }
  std::size_t passed = begin_;
  chars::Buffer buffer;
  each_place(text_->odd_, begin_, end_, [&](std::size_t place) {
    if (is_common(text.data() + place) || place < passed) {  // passed: the second half of a pair
      return;
    }
    const chars::Char c = char_at(text, place, end_);
    const std::string_view spelling = Policy::spell(c, buffer);
    size += (spelling.data() != nullptr ? spelling.size() : utf8_size(c.code)) - c.length;
    passed = place - (text[place] == 'u' ? 1 : 0) + c.length;
  });
  return size;
}

template std::uint64_t RawString::shown_size<chars::TextPolicy>() const;
template std::uint64_t RawString::shown_size<chars::LinePolicy>() const;
template std::uint64_t RawString::shown_size<chars::JsonPolicy>() const;

}  // namespace arborfs
