// JSON values with JavaScript's meaning: what JSON.parse makes of a text and JSON.stringify makes of a value
// (omp/FORMAT.md A8, A9, C23). The only place that includes RapidJSON. Nothing recurses on input.
//
// A Document owns its memory pool; a Value lives as long as the Document that it was made in. Strings are WTF-8
// (utf8.h). A Document is used by one thread at a time.
#pragma once

// RapidJSON's empty stack adds to a null pointer, which clang's sanitizer would stop at.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = any(function(is_member)))
#endif
#include <rapidjson/document.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace arborfs::json {

using Document = rapidjson::Document;
using Value = rapidjson::Value;

/// JSON.parse: duplicate keys keep the first place and the last value, integer-like keys come first in ascending
/// order, numbers are doubles (overflow gives infinity), lone surrogates stay. Bytes that are not UTF-8 are taken as
/// U+FFFD. False when the text is not one JSON value (white space around it allowed); `out` is then null.
bool parse(std::string_view text, Document& out);

/// JSON.stringify: appends to `out`. Numbers as ECMAScript prints them, NaN and infinities as null, lone surrogates
/// as \udxxx. The value must have been normalised by parse() or built in the wanted key order.
void stringify(const Value& value, std::string& out);
std::string stringify(const Value& value);

/// Appends the JSON string literal of WTF-8 text, quotes included.
void stringify_string(std::string_view wtf8, std::string& out);
std::string stringify_string(std::string_view wtf8);

/// ECMAScript Number::toString of a finite double; "null" for the rest, as JSON.stringify has it.
std::string number_text(double number);

/// True when `text`, which must be one valid JSON value without white space around it, is already what
/// stringify(parse(text)) gives, so that it can be copied instead. May say false for text that is, never the reverse.
bool is_canonical(std::string_view text);

/// Appends stringify(parse(text)); copies where is_canonical. `text` must be one valid JSON value.
void canonicalize(std::string_view text, std::string& out);

/// Members by name without the noise. Null pointer when `value` is no object or has no such member.
const Value* member(const Value& value, std::string_view key);
Value* member(Value& value, std::string_view key);
std::string_view as_string(const Value& value);  // value must be a string
std::optional<std::string_view> string_member(const Value& value, std::string_view key);
bool is_string(const Value* value, std::string_view text);  // null pointers welcome

/// The members of an object, to loop over. (RapidJSON's iterators of mutable members do not compile under clang's
/// -Werror in C++20.)
std::span<const Value::Member> members(const Value& object);
std::span<Value::Member> members(Value& object);

/// JavaScript's ToBoolean: null, false, 0, NaN, "" and absence (null pointer) are falsy.
bool is_truthy(const Value* value);

/// Building: `set` replaces in place or appends; `text` copies into the document's pool.
Value make_string(std::string_view text, Document& owner);
void set(Value& object, std::string_view key, Value value, Document& owner);
bool erase(Value& object, std::string_view key);
/// A deep copy without recursion, into `owner`'s pool.
Value copy(const Value& value, Document& owner);

}  // namespace arborfs::json
