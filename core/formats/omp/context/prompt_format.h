// Formats a prompt as omp18 does after filling in the template (omp/FORMAT.md M3). Pure function, any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs {

/// Removes white space at the ends of lines, runs of blank lines and blank lines before a closing tag, and trims the
/// cells of tables. In fenced code, removes only white space at the ends of lines. The result ends without a line feed.
std::string formatted_prompt(std::string_view wtf8);

}  // namespace arborfs
