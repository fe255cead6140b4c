// Text that is hidden in other text by escapes of JSON, percent-encoding or base64, with the place of each byte in that
// text. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::redact {

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;  // just past the last byte
};

/// Decoded text. It refers to nothing but the view of the text that it was decoded from, which outlives it.
class DecodedView {
 public:
  /// `outer` is a null pointer if the text is decoded from the source itself.
  explicit DecodedView(const DecodedView* outer) : outer_(outer), depth_(outer == nullptr ? 1 : outer->depth_ + 1) {}

  [[nodiscard]] const std::string& text() const { return text_; }
  /// How many times it was decoded.
  [[nodiscard]] int depth() const { return depth_; }
  /// The bytes of the source that a part of the text, not an empty one, is made of: whole escapes, whole groups of four
  /// characters of base64.
  [[nodiscard]] Span in_source(Span part) const;

  /// Appends text whose bytes come from those at `from`, each unit of `made` bytes from `read` bytes there.
  void append(std::string_view text, std::size_t from, std::size_t read, std::size_t made);

 private:
  struct Piece {
    std::size_t at;    // in the text
    std::size_t from;  // in the outer text
    std::size_t read;  // bytes there for each unit
    std::size_t made;  // bytes here for each unit
  };
  [[nodiscard]] const Piece& piece_at(std::size_t at) const;

  const DecodedView* outer_;
  int depth_;
  std::string text_;
  std::vector<Piece> pieces_;
};

enum class Escapes {
  json,  // those of JSON
  all,   // and percent-encoding, and NUL between the letters of UTF-16
};

/// Appends a view of each part of the text that has escapes, with the text around them; with Escapes::json, one of all
/// of the text.
void unescape(std::string_view text, const DecodedView* outer, Escapes which, std::deque<DecodedView>& views);

/// Appends a view of each part of the text that is base64 (of both alphabets, also in lines) of readable text.
void decode_base64_texts(std::string_view text, const DecodedView* outer, std::deque<DecodedView>& views);

}  // namespace arborfs::redact
