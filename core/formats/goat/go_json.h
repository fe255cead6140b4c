// JSON as Go's decoder reads it into a struct (goat/FORMAT.md C4). Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json/document.h"

namespace arborfs::goat {

/// True if Go's decoder takes this raw text between the quotes of a key for `name`, whatever the case of its letters.
bool spells_key_of(std::string_view spelled, std::string_view name);

/// Takes the next value of a field: null does not replace another one.
void keep_go_value(std::string_view& kept, std::string_view value);
/// The value that the field gets from the text of an object; empty if there is none.
std::string_view go_member(std::string_view object, std::string_view name);
/// The same in a parsed object; null for a value that is not an object.
const json::Value* go_member(const json::Value& object, std::string_view name);

/// The value of a string field: "" for null and for a missing one. Nothing if Go rejects the value.
std::optional<std::string> go_string(std::string_view value);
std::string go_string(const json::Value* value);

/// U+FFFD for each byte that is no part of well-formed UTF-8, also where decode_utf8() has one for several.
std::string go_utf8(std::string_view bytes);

/// True for the texts that time.Time is read from.
bool is_rfc3339(std::string_view text);

}  // namespace arborfs::goat
