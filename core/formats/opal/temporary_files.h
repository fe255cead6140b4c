// The temporary files in which arborfs rewrites sessions of Opal. A writer holds a lock on its file (flock) until the
// file is in place, so a file that no process holds was left by a killed process. Any thread.
#pragma once

#include <functional>
#include <string>

#include "core/os/file.h"

namespace arborfs::opal {

/// Calls `found` with the name of each file that was left in the folder, and holds its lock meanwhile. None if the
/// folder cannot be listed, or its file system has no locks.
void each_leftover(const Dir& folder, const std::function<void(const std::string& name)>& found);

}  // namespace arborfs::opal
