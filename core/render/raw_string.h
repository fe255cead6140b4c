// Strings as JSON spells them, examined without decoding: their size when they are shown, and where their lines end.
// Rare characters (given by number, or shown differently) are examined one by one, the rest 64 bytes at a time. Used by
// one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_cursor.h"
#include "core/render/chars.h"

namespace arborfs {

/// A JSON text whose strings are to be examined.
class RawText {
 public:
  /// Bytes that must be readable after every text; their values do not matter.
  static constexpr std::size_t kPadding = 64;

  /// `text` is valid JSON except for the escapes in its strings; false if one of these is not a JSON escape.
  bool read(std::string_view text);

 private:
  friend class RawString;
  std::string_view text_;
  // One bit for each byte of the text. An escape is marked at the byte after its backslash.
  std::vector<std::uint64_t> halved_;    // two-byte escapes of one-byte characters that are shown as they are in text
  std::vector<std::uint64_t> newlines_;  // those of them that are newlines
  std::vector<std::uint64_t> odd_;       // characters that may be shown differently or are given by number
  bool has_numbers_ = false;             // some character is given by number
};

/// One of its strings, or a part of one that begins and ends between characters. Valid as long as the text.
class RawString {
 public:
  RawString() = default;
  /// `literal` is the part of the text between the quotes.
  RawString(const RawText& text, std::string_view literal)
      : text_(&text),
        begin_(static_cast<std::size_t>(literal.data() - text.text_.data())),
        end_(begin_ + literal.size()) {}

  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::string_view literal() const {
    return text_ == nullptr ? std::string_view() : text_->text_.substr(begin_, end_ - begin_);
  }
  /// True if that character is given by number.
  [[nodiscard]] bool has_number(char32_t code) const;
  [[nodiscard]] bool has_newline() const;
  [[nodiscard]] RawString without_end_newlines() const;
  /// Does not count newlines that are given by number.
  [[nodiscard]] chars::LineCount lines() const;
  /// The decoded string, in WTF-8.
  [[nodiscard]] std::string decoded() const;
  /// The number of bytes that chars::scan<Policy> would put for the decoded string.
  template <class Policy>
  [[nodiscard]] std::uint64_t shown_size() const;

  /// True if it decodes to `text`, which has no backslash.
  bool operator==(std::string_view text) const { return skim::means(literal(), text); }

 private:
  const RawText* text_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace arborfs
