// Text in the user's name, without what a program put in. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace arborfs {

/// The text without the elements `<name>…</name>` and `<name …>…</name>` of these names, and without white space at its
/// ends. An element that does not end takes the rest of the text with it.
std::string without_elements(std::string_view text, std::span<const std::string_view> names);

/// What the first element of this name contains, without white space at its ends; "" if there is none.
std::string_view element_in(std::string_view text, std::string_view name);

}  // namespace arborfs
