// What a fork takes along of the folder beside its source's transcript (claude/FORMAT.md G5). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/os/disk.h"

namespace arborfs::claude {

/// A file, or a folder with all that is in it, by the names on its way from that folder.
using PathBeside = std::vector<std::string>;

/// The transcripts of the sub-agents that the rows of a fork started, and of those that these started, with their
/// descriptions; and the outputs of tools that any of them name. Errors: those of reading.
Result<std::vector<PathBeside>> named_beside(const Dir& beside, std::string_view rows);

/// Copies them to another such folder, byte for byte. The copies are on the disk on return, but for the name of `to`.
Result<void> copy_beside(Disk& disk, const Dir& beside, const std::vector<PathBeside>& paths, const Dir& to);

}  // namespace arborfs::claude
