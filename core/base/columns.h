// The columns that text takes on a terminal. Pure functions, any thread; the text has no control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs {

/// Columns that a terminal uses for `text`: two for wide characters, none for combining ones.
std::size_t columns_of(std::string_view text);
/// Cuts the text to so many columns; the last one is an ellipsis if something is missing.
std::string cut(std::string_view text, std::size_t columns);
/// The same with the ellipsis in the middle, so that the end remains, too.
std::string cut_middle(std::string_view text, std::size_t columns);
/// Breaks the text at spaces into lines of at most so many columns. A longer word has a line of its own. At least one
/// line.
std::vector<std::string> lines_of_columns(std::string_view text, std::size_t columns);

}  // namespace arborfs
