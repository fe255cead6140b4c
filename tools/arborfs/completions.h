// The completion scripts of packaging/completions/, carried in the program so that `arborfs completion` can print them
// wherever it was installed. Their text is put in by tools/CMakeLists.txt.
#pragma once

#include <string_view>

namespace arborfs::cli {

extern const std::string_view kBashCompletion;
extern const std::string_view kZshCompletion;
extern const std::string_view kFishCompletion;

}  // namespace arborfs::cli
