// The word that was meant by a mistyped one. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

namespace arborfs::cli {

/// The candidate with the fewest edits from `word` (insert, delete, replace, swap neighbours), "" when none is within
/// 2 edits, or within 1 for a word of up to 3 characters. Of equally near ones the first.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// "; did you mean 'show'?"; "" for "".
std::string did_you_mean(const std::string& word);

}  // namespace arborfs::cli
