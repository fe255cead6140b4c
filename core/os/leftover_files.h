// Files that killed writers left among those of an agent. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"

namespace arborfs {

/// The files of a folder that have a temporary name (temp_file.h), or one that `is_ours` accepts, and that no
/// process has open for writing. Only for writers that keep such a file open until it has its own name.
std::vector<std::string> leftover_files(const Dir& folder,
                                        const std::function<bool(std::string_view name)>& is_ours = nullptr);

/// The files with a temporary or a removed name that no process has open for writing, and the folders with a temporary
/// name that no process has locked: a writer has a file open, or a folder locked, until that has its own name.
std::vector<std::string> leftovers_of_writers(const Dir& folder);

/// True if leftovers_of_writers() still has this name.
bool is_leftover(const Dir& folder, const std::string& name);

}  // namespace arborfs
