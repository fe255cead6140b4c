// Lists of words in messages. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace arborfs {

/// "omp, pi and opal"; "" for none.
std::string join_words(const std::vector<std::string>& words);

}  // namespace arborfs
