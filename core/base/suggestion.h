// Suggests the word that a mistyped one was meant to be. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

namespace arborfs {

/// The candidate with the fewest edits from `word` (insert, delete, replace, swap neighbours); "" if none is within 2
/// edits, or within 1 for a word of up to 3 characters. The first of equally near ones.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// "; did you mean 'show'?"; "" for "".
std::string did_you_mean(const std::string& word);

}  // namespace arborfs
