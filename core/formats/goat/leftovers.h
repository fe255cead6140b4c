// The names of files and folders that arborfs fills before it moves them into place among goat's, and the leftovers of
// killed processes. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"

namespace arborfs::goat {

/// An unused name that neither goat nor arborfs takes for a session or a checkpoint. `unique` is one component.
std::string temporary_name(std::string_view unique);
bool is_temporary(std::string_view name);

/// The temporary names in a folder that are too old to be in use; none if it cannot be listed.
std::vector<std::string> leftovers_in(const Dir& folder);

}  // namespace arborfs::goat
