// How omp 18 tidies a prompt after it has filled in the template (omp/FORMAT.md M3). Pure function, any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs {

/// The text without white space at the ends of lines, without runs of blank lines and blank lines before a closing tag,
/// with the cells of tables trimmed. Lines of fenced code keep all but their white space at the end. No line feed at
/// the end.
std::string formatted_prompt(std::string_view wtf8);

}  // namespace arborfs
