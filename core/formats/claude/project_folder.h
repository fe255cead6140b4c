// The folder of a project's transcripts (claude/FORMAT.md A1). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs::claude {

/// The name of the folder in which the program looks for the sessions of a working directory.
std::string project_folder_of(std::string_view cwd);

}  // namespace arborfs::claude
