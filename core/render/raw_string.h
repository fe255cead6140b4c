// Strings as JSON spells them, looked at without being decoded: how large they are when they are shown, where their
// lines end. What is rare (a character given by its number, one that is shown otherwise) is looked at one by one, the
// rest 64 bytes at a time. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/json_cursor.h"
#include "core/render/chars.h"

namespace arborfs {

/// A JSON text whose strings are asked for.
class RawText {
 public:
  /// Bytes that must be readable behind every text, of any value.
  static constexpr std::size_t kPadding = 64;

  /// `text` is valid JSON but for the escapes in its strings; false when one of these is none of JSON's.
  bool read(std::string_view text);

 private:
  friend class RawString;
  std::string_view text_;
  // A bit for each byte of the text. An escape is where what its backslash escapes stands.
  std::vector<std::uint64_t> halved_;    // escapes of two bytes for a character of one that is shown as it is in text
  std::vector<std::uint64_t> newlines_;  // of the same, those for newlines
  std::vector<std::uint64_t> odd_;       // characters that may be shown otherwise, or are given by their number
  bool has_numbers_ = false;             // some character is given so
};

/// One of its strings, or a part of it that begins and ends between characters. Lives as long as the text.
class RawString {
 public:
  RawString() = default;
  /// `literal`, a part of the text, is what stands between the quotes.
  RawString(const RawText& text, std::string_view literal)
      : text_(&text),
        begin_(static_cast<std::size_t>(literal.data() - text.text_.data())),
        end_(begin_ + literal.size()) {}

  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::string_view literal() const {
    return text_ == nullptr ? std::string_view() : text_->text_.substr(begin_, end_ - begin_);
  }
  /// That character is given by its number.
  [[nodiscard]] bool has_number(char32_t code) const;
  [[nodiscard]] bool has_newline() const;
  [[nodiscard]] RawString without_end_newlines() const;
  /// Newlines given by their numbers are not counted.
  [[nodiscard]] chars::LineCount lines() const;
  /// What it means, in WTF-8.
  [[nodiscard]] std::string decoded() const;
  /// How many bytes chars::scan<Policy> would put.
  template <class Policy>
  [[nodiscard]] std::uint64_t shown_size() const;

  /// What it means is `text`, which has no backslash.
  bool operator==(std::string_view text) const { return skim::means(literal(), text); }

 private:
  const RawText* text_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace arborfs
