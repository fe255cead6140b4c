// JSON values with JavaScript semantics: the results of JSON.parse and JSON.stringify
// (omp/FORMAT.md A8, A9, C23). The only header that includes RapidJSON. Nothing recurses on input. Any thread.
//
// A Document owns its memory pool; a Value lives as long as the Document that it was made in. Strings are WTF-8
// (utf8.h). A Document is used by one thread at a time.
#pragma once

// RapidJSON's empty stack does arithmetic on a null pointer, which clang's sanitizer reports.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = any(function(is_member)))
#endif
#include <rapidjson/document.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::json {

using Document = rapidjson::Document;
using Value = rapidjson::Value;

/// JSON.parse: duplicate keys keep the first place and the last value, integer-like keys come first in ascending
/// order, numbers are doubles (overflow gives infinity), lone surrogates stay. Bytes that are not UTF-8 are read as
/// U+FFFD. False if the text is not one JSON value (white space around it allowed); `out` is then null.
bool parse(std::string_view text, Document& out);

/// Like parse(), for texts too long to be in memory twice: escapes are decoded in `text`, and the strings of `out`
/// point into it. `text` must be UTF-8 and must outlive `out`; its bytes are useless for anything else afterwards.
bool parse_in_place(std::span<char> text, Document& out);

/// JSON.stringify: appends to `out`. Writes numbers as ECMAScript does, NaN and infinities as null, lone surrogates
/// as \udxxx. The value must have been normalised by parse() or built in JavaScript's key order.
void stringify(const Value& value, std::string& out);
std::string stringify(const Value& value);

/// Appends WTF-8 text as a JSON string literal, quotes included.
void stringify_string(std::string_view wtf8, std::string& out);
std::string stringify_string(std::string_view wtf8);

/// The text of an object or array that is built in the order of the calls. Strings are WTF-8.
class Text {
 public:
  static Text object() { return {'{', '}'}; }
  static Text array() { return {'[', ']'}; }
  static Text array_of(const std::vector<std::string>& texts);
  /// An array with each item on a line of its own.
  static Text lines() { return {'[', ']', "\n"}; }

  // Members of an object.
  Text& add(std::string_view key, std::string_view text);
  Text& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  Text& add(std::string_view key, std::uint64_t number) { return add_json(key, std::to_string(number)); }
  Text& add(std::string_view key, std::uint32_t number) { return add(key, std::uint64_t{number}); }
  Text& add(std::string_view key, bool truth) { return add_json(key, truth ? "true" : "false"); }
  /// `json` is JSON text already.
  Text& add_json(std::string_view key, std::string_view json);

  // Items of an array.
  Text& item(std::string_view text);
  Text& item_json(std::string_view json);

  [[nodiscard]] bool is_empty() const { return empty_; }
  /// The whole text, closed, without a newline at the end.
  [[nodiscard]] std::string str() const;

 private:
  Text(char opener, char closer, std::string_view gap = "") : text_(1, opener), closer_(closer), gap_(gap) {}
  void comma();
  std::string text_;
  char closer_;
  std::string_view gap_;
  bool empty_ = true;
};

/// ECMAScript Number::toString of a finite double; "null" for NaN and infinities, like JSON.stringify.
std::string number_text(double number);

/// True if `text` equals stringify(parse(text)), so that it can be copied instead. `text` must be one valid JSON value
/// without white space around it. May return false for canonical text, but never true for other text.
bool is_canonical(std::string_view text);

/// Appends stringify(parse(text)); copies `text` if it is canonical. `text` must be one valid JSON value.
void canonicalize(std::string_view text, std::string& out);

/// Finds a member by name. Null pointer if `value` is not an object or has no such member.
const Value* member(const Value& value, std::string_view key);
Value* member(Value& value, std::string_view key);
std::string_view as_string(const Value& value);  // value must be a string
std::optional<std::string_view> string_member(const Value& value, std::string_view key);
/// The text of a member that is a string, else "".
std::string text_member(const Value& value, std::string_view key);
std::optional<double> number_member(const Value& value, std::string_view key);
bool is_string(const Value* value, std::string_view text);  // `value` may be null

/// The members of an object, for range loops. (RapidJSON's iterators over mutable members do not compile with clang's
/// -Werror in C++20.)
std::span<const Value::Member> members(const Value& object);
std::span<Value::Member> members(Value& object);

/// JavaScript's ToBoolean: null, false, 0, NaN, "" and a null pointer (undefined) are falsy.
bool is_truthy(const Value* value);

/// Building values. make_string copies into `owner`'s pool. `set` replaces a member in place or appends it. `erase`
/// returns false if there is no such member.
Value make_string(std::string_view text, Document& owner);
void set(Value& object, std::string_view key, Value value, Document& owner);
bool erase(Value& object, std::string_view key);
/// A deep copy in `owner`'s pool; does not recurse.
Value copy(const Value& value, Document& owner);

/// Returns a pointer just past the number that starts at `p`, or null if the text there is not a valid number. Consumes
/// every byte that can belong to the number.
const char* skip_number(const char* p, const char* end);

/// The double nearest to a JSON number, as JavaScript reads it: infinity on overflow, zero on underflow.
double number_value(std::string_view number);

/// The number of an integer-like key ("0" to "4294967294", canonical), which JavaScript puts first; nullopt for any
/// other key.
std::optional<std::uint32_t> array_index(std::string_view key);

/// True if no key occurs twice and the integer-like ones come first, ascending.
bool keys_in_order(std::span<const std::string_view> keys);

}  // namespace arborfs::json
