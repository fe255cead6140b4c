// A look into JSON text without parsing it: the members of an object, the elements of an array, as pieces of the text.
// For text that was found to be valid JSON before; other text gives false, never a read out of bounds. Nothing
// recurses, nothing is allocated unless a key is spelled with escapes. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/json/places.h"

namespace arborfs::skim {

/// Just behind the value that starts at `begin`, or npos.
std::size_t value_end(std::string_view text, std::size_t begin);

/// Visits an object or an array piece by piece.
class Cursor {
 public:
  /// `container` is the text of one object or array; anything else has no pieces.
  explicit Cursor(std::string_view container);
  /// Moves to the next member or element; false behind the last one or where the text is no JSON.
  bool next();
  /// The member's key between its quotes, as spelled; empty in arrays.
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  /// What the key means is `name`, whatever its spelling.
  [[nodiscard]] bool key_is(std::string_view name) const;

 private:
  bool read_key();
  void skip_space();
  std::string_view text_;
  std::size_t at_ = 0;
  bool is_object_ = false;
  std::string_view key_;
  std::string_view value_;
};

/// The value of a member; the last one where a key repeats, as in JavaScript. Empty when there is none.
std::string_view member(std::string_view object, std::string_view name);
/// The same where the object was taken apart, and starts at `object`; nothing of another value. `name` is not empty.
std::optional<json::Places::Place> member(const json::Places& places, json::Places::Place object,
                                          std::string_view name);

/// The WTF-8 text of a JSON string literal; nothing for other values.
std::optional<std::string> string_value(std::string_view literal);

/// True when `literal` is a JSON string that means `text`.
bool is_string(std::string_view literal, std::string_view text);

/// JavaScript's ToBoolean of a JSON value; false for empty text.
bool is_truthy(std::string_view literal);

/// True when what stands between the quotes of a JSON string means `text`, which has no backslash.
bool means(std::string_view spelled, std::string_view text);

/// True when `needle` occurs.
bool contains(std::string_view text, std::string_view needle);

}  // namespace arborfs::skim
