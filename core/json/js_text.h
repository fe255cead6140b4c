// JavaScript's conversion of values to text, and of text to characters. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/json/document.h"

namespace arborfs {

/// String(value), WTF-8; "undefined" for a null pointer.
std::string js_text(const json::Value* value);

/// The same for a value given as JSON text; "undefined" for empty text.
std::string js_text_of_json(std::string_view literal);

/// JSON.stringify([...text]).
std::string characters_json(std::string_view wtf8);

/// text.trim() === "".
bool is_blank(std::string_view wtf8);

/// text.trimStart(), text.trimEnd() and text.trim().
std::string_view trimmed_start(std::string_view wtf8);
std::string_view trimmed_end(std::string_view wtf8);
std::string_view trimmed(std::string_view wtf8);

/// The length in bytes of the first character; at least 1 unless `wtf8` is empty.
std::size_t character_length(std::string_view wtf8);

/// Calls `take` with each character of the text, like iterating over a JavaScript string.
template <class Take>
void for_each_character(std::string_view wtf8, Take take) {
  while (!wtf8.empty()) {
    const std::size_t length = character_length(wtf8);
    take(wtf8.substr(0, length));
    wtf8.remove_prefix(length);
  }
}

}  // namespace arborfs
