// What belongs to a session of Claude Code, for core/write/transfer.h: the transcript, the folder beside it, and what
// other folders of the program keep for it (claude/FORMAT.md A9). One thread an object.
#pragma once

#include <memory>
#include <vector>

#include "core/write/transfer.h"

namespace arborfs::claude {

/// Null if the store's sessions have no such place; a sub-agent belongs to its session. `store` outlives it.
std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place);

/// The folder of a project with the program's notes about it: not a session's.
inline constexpr const char* kMemory = "memory";

/// What the folder of the project has of it, by names in that folder; the transcript is last. Errors: as of in_store().
Result<std::vector<Belonging>> project_files_of(const arborfs::Store& store, const LogPlace& place);

}  // namespace arborfs::claude
