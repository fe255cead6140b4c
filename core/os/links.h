// Where symbolic links of a store lead (CONTRACT.md 8.3). Only reads. Any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"

namespace arborfs {

/// The components of a path, without empty ones and ".".
std::vector<std::string> path_components(std::string_view path);

/// The error for a path that leads into a mount of arborfs: its daemon must not wait for itself.
Error own_mount();

/// The absolute path without links. Unlike realpath(3), it accesses no file system that is in `mounts`. Errors:
/// own_mount() if it leads into one; corrupt if the links form a loop.
Result<std::string> real_path_outside(const std::string& path, const std::set<std::string>& mounts);
/// True if the path, or a link on its way, leads into one of the mounts.
bool leads_into(const std::set<std::string>& mounts, const std::string& path);

/// What the symbolic link `name` in `dir` leads to, opened as a path only (O_PATH): a FIFO does not block, a device
/// does not notice. Errors: corrupt if the link leads nowhere or into a loop; own_mount(); permission.
Result<UniqueFd> end_of_link(const Dir& dir, const std::string& name);

}  // namespace arborfs
