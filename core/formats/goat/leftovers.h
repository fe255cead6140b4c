// What killed writers of arborfs left in goat's folders and in the working directories of its sessions
// (core/os/leftover_files.h), as findings. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"
#include "core/store/finding.h"

namespace arborfs::goat {

/// Those in a folder with this path. `what` was unfinished: "checkpoint".
std::vector<Finding> leftovers_in(const Dir& folder, const std::string& path, std::string_view what);

/// Those of rewinds, next to the files of the session's checkpoints below its working directory. `base` is the folder
/// of the sessions, in which nothing is looked for.
std::vector<Finding> leftovers_of_rewinds(const Dir& session, const std::string& cwd, const FileStat& base);

}  // namespace arborfs::goat
