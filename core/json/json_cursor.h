// Finds the members of an object and the elements of an array in JSON text without parsing it; results are pieces of
// the text. For text that is known to be valid JSON; for other text the results are meaningless, but no access is out
// of bounds. Does not recurse; allocates nothing unless a key is spelled with escapes. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace arborfs::skim {

/// The end of the value that starts at `begin`, or npos.
std::size_t value_end(std::string_view text, std::size_t begin);

/// Iterates over the members of an object or the elements of an array.
class Cursor {
 public:
  /// `container` is the text of one object or array; any other text has no members.
  explicit Cursor(std::string_view container);
  /// Moves to the next member or element; false after the last one or if the text is not valid JSON.
  bool next();
  /// The raw text between the quotes of the member's key; empty in arrays.
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  /// True if the key means `name`, however it is spelled.
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

/// The value of a member; the last one if a key repeats, as in JavaScript. Empty if there is none.
std::string_view member(std::string_view object, std::string_view name);

/// The WTF-8 text of a JSON string literal; nullopt for other values.
std::optional<std::string> string_value(std::string_view literal);

/// The text of a member that is a string, else "".
std::string text_member(std::string_view object, std::string_view name);

/// True if `literal` is a JSON string that means `text`.
bool is_string(std::string_view literal, std::string_view text);

/// JavaScript's ToBoolean of a JSON value; false for empty text.
bool is_truthy(std::string_view literal);

/// True if `spelled`, the raw text between the quotes of a JSON string, means `text`, which must not have a backslash.
bool means(std::string_view spelled, std::string_view text);

/// Where a new member goes: after the last one without white space, or on a line of its own, as in
/// JSON.stringify(value, null, 2).
enum class Layout { compact, lines };

/// `object`, which is the text of one object, with a member set to a JSON text; every other byte stays. If a key
/// repeats, the member that member() finds is set. `is_key` compares keys, as means() does.
std::string set_member(std::string object, std::string_view name, std::string_view value,
                       Layout layout = Layout::compact,
                       bool (*is_key)(std::string_view spelled, std::string_view name) = means);

/// True if `needle` occurs in `text`.
bool contains(std::string_view text, std::string_view needle);

}  // namespace arborfs::skim
