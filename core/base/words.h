// Words, numbers, lines and white space in messages. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs {

/// "omp, pi and opal"; "" for none.
std::string join_words(const std::vector<std::string>& words);

/// "1,234,567".
std::string grouped(std::uint64_t number);
/// "1 entry", "2 entries". Without `plural`, appends an `s` to `singular`.
std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural = "");

/// The text without the characters of `white` at its ends; it refers to the same bytes. Empty if it has no others.
constexpr std::string_view stripped(std::string_view text, std::string_view white = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(white);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(white) + 1 - first);
}

/// Takes the first line off; without its line feed.
constexpr std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace arborfs
