#include "core/render/spelled.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "core/base/byte_marks.h"
#include "core/json/escapes.h"
#include "core/model/skim.h"

namespace arborfs {

namespace {

constexpr std::size_t kShortEscape = 2;
constexpr std::size_t kLongEscape = 6;  // \u and four digits
static_assert(SpelledText::kPadding >= json::kEscapePadding);

/// In valid JSON there are no control characters but the last of these, so they alone can begin one to look at.
constexpr std::string_view kCareBytes = "\x7F\xC2\xD8\xE1\xE2\xED\xEF\xF3";
constexpr ByteSet kCare(kCareBytes);
static_assert([] {
  for (unsigned byte = 0x20; byte < 0x100; ++byte) {
    if (kCare.has(static_cast<char>(byte)) != chars::TextPolicy::kCare[byte]) {
      return false;
    }
  }
  return true;
}());

/// Calls each(index, bits) for the marks of the bytes from `begin` to `end`; `bits` has those of others cleared.
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

/// The unit of UTF-16 that an escape of six bytes gives.
char32_t unit_at(std::string_view text, std::size_t place) {
  std::uint32_t unit = 0;
  const char* const digits = text.data() + place + 2;
  std::from_chars(digits, digits + 4, unit, 16);
  return unit;
}

bool is_long_escape(std::string_view text, std::size_t place, std::size_t end) {
  return end - place >= kLongEscape && text[place] == '\\' && text[place + 1] == 'u';
}

/// The character at `place`, which is marked as odd; its length is that of its spelling.
chars::Char char_at(std::string_view text, std::size_t place, std::size_t end) {
  if (text[place] != '\\') {
    return chars::decode(text, place);
  }
  const char32_t unit = unit_at(text, place);
  if (unit >= 0xD800 && unit < 0xDC00 && is_long_escape(text, place + kLongEscape, end)) {
    const char32_t low = unit_at(text, place + kLongEscape);
    if (low >= 0xDC00 && low < 0xE000) {
      return {0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00), 2 * kLongEscape, true};
    }
  }
  return {unit, kLongEscape, unit < 0xD800 || unit >= 0xE000};
}

/// True for most of the odd characters that are shown as they are: dashes, quotes, arrows and the like (U+2010 to
/// U+2027, U+2080 to U+2FFF).
bool is_common(const char* at) {
  const auto byte = [at](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  return byte(0) == 0xE2 && (byte(1) > 0x81 || (byte(1) == 0x80 && byte(2) >= 0x90 && byte(2) <= 0xA7));
}

std::size_t utf8_size(char32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

}  // namespace

bool SpelledText::read(std::string_view text) {
  text_ = text;
  has_numbers_ = false;
  const std::size_t marks = marks_for(text.size());
  if (odd_.size() < marks) {
    for (auto* const kept : {&odd_, &halved_, &newlines_}) {
      kept->resize(std::bit_ceil(marks));
    }
  }
  mark(text, kCare, odd_.data());
  mark(text, '\\', halved_.data());
  json::EscapeWalk walk;
  for (std::size_t i = 0; i < marks; ++i) {
    const std::uint64_t backslashes = halved_[i];
    halved_[i] = 0;
    newlines_[i] = 0;
    const char* const block = text.data() + i * kMarkedBytes;
    const bool valid = walk.step(block, backslashes, [&](unsigned at) {
      const std::uint64_t bit = std::uint64_t{1} << at;
      switch (block[at + 1]) {
        case 'n':
          newlines_[i] |= bit;
          halved_[i] |= bit;
          return;
        case 'u':
          odd_[i] |= bit;
          has_numbers_ = true;
          return;
        case 'b':
        case 'f':
        case 'r':
          return;  // shown as two characters
        default:
          halved_[i] |= bit;
      }
    });
    if (!valid) {
      return false;
    }
  }
  return true;
}

bool Spelled::has_number(char32_t code) const {
  bool found = false;
  if (text_ != nullptr && text_->has_numbers_) {
    const std::string_view text = text_->text_;
    each_place(text_->odd_, begin_, end_,
               [&](std::size_t place) { found = found || (text[place] == '\\' && unit_at(text, place) == code); });
  }
  return found;
}

bool Spelled::has_newline() const {
  bool found = has_number('\n');
  if (text_ != nullptr) {
    each_mark(text_->newlines_, begin_, end_, [&found](std::size_t, std::uint64_t) { found = true; });
  }
  return found;
}

Spelled Spelled::without_end_newlines() const {
  Spelled trimmed = *this;
  for (;;) {
    const std::size_t size = trimmed.end_ - trimmed.begin_;
    if (size >= kShortEscape && is_marked(text_->newlines_, trimmed.end_ - kShortEscape)) {
      trimmed.end_ -= kShortEscape;
    } else if (size >= kLongEscape && text_->has_numbers_ && is_marked(text_->odd_, trimmed.end_ - kLongEscape) &&
               is_long_escape(text_->text_, trimmed.end_ - kLongEscape, trimmed.end_) &&
               unit_at(text_->text_, trimmed.end_ - kLongEscape) == '\n') {
      trimmed.end_ -= kLongEscape;
    } else {
      return trimmed;
    }
  }
}

chars::LineCount Spelled::lines() const {
  chars::LineCount lines;
  if (empty()) {
    lines.empty = 1;
    return lines;
  }
  std::size_t line = begin_;  // where one starts
  each_place(text_->newlines_, begin_, end_, [&](std::size_t place) {
    ++lines.all;
    lines.empty += place == line ? 1 : 0;
    line = place + kShortEscape;
  });
  lines.empty += line == end_ ? 1 : 0;
  return lines;
}

std::string Spelled::decoded() const {
  return skim::string_value('"' + std::string(literal()) + '"').value_or("");
}

template <class Policy>
std::uint64_t Spelled::shown_size() const {
  if (empty()) {
    return 0;
  }
  const std::string_view text = text_->text_;
  std::uint64_t size = end_ - begin_;
  each_mark(text_->halved_, begin_, end_, [&](std::size_t i, std::uint64_t bits) {
    if constexpr (Policy::kEscapes) {
      for (; bits != 0; bits &= bits - 1) {
        size -= text[i * kMarkedBytes + static_cast<std::size_t>(std::countr_zero(bits)) + 1] == '/' ? 1 : 0;
      }
    } else {
      size -= static_cast<std::uint64_t>(std::popcount(bits));
    }
  });
  std::size_t passed = begin_;
  chars::Buffer buffer;
  each_place(text_->odd_, begin_, end_, [&](std::size_t place) {
    if (is_common(text.data() + place) || place < passed) {  // passed: the second half of a pair
      return;
    }
    const chars::Char c = char_at(text, place, end_);
    const std::string_view spelling = Policy::spell(c, buffer);
    size += (spelling.data() != nullptr ? spelling.size() : utf8_size(c.code)) - c.length;
    passed = place + c.length;
  });
  return size;
}

template std::uint64_t Spelled::shown_size<chars::TextPolicy>() const;
template std::uint64_t Spelled::shown_size<chars::LinePolicy>() const;
template std::uint64_t Spelled::shown_size<chars::JsonPolicy>() const;

}  // namespace arborfs
