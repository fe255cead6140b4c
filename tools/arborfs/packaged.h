// Texts of packaging/, compiled into the program so that `arborfs completion` and `arborfs skill` can print them
// wherever it is installed. tools/CMakeLists.txt inserts them.
#pragma once

#include <string_view>

namespace arborfs::cli {

extern const std::string_view kBashCompletion;
extern const std::string_view kZshCompletion;
extern const std::string_view kFishCompletion;
extern const std::string_view kSkillPage;  // packaging/skill/SKILL.md

}  // namespace arborfs::cli
