// The files and folders among goat's that killed processes did not move into place. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/os/file.h"

namespace arborfs::goat {

/// The temporary names (core/os/temporary_name.h) in a folder that are too old to be in use; none if it cannot be
/// listed.
std::vector<std::string> leftovers_in(const Dir& folder);

}  // namespace arborfs::goat
