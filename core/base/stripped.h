// White space at the ends of a text. Pure; any thread.
#pragma once

#include <string_view>

namespace arborfs {

/// The text without the characters of `white` at its ends; it refers to the same bytes. Empty if it has no others.
constexpr std::string_view stripped(std::string_view text, std::string_view white = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(white);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(white) + 1 - first);
}

}  // namespace arborfs
