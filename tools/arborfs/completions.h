// The completion scripts of packaging/completions/, compiled into the program so that `arborfs completion` can print
// them wherever it is installed. tools/CMakeLists.txt inserts their text.
#pragma once

#include <string_view>

namespace arborfs::cli {

extern const std::string_view kBashCompletion;
extern const std::string_view kZshCompletion;
extern const std::string_view kFishCompletion;

}  // namespace arborfs::cli
