// The extended attributes of entries and sessions (CONTRACT.md 2.4, -o xattr). Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/call.h"
#include "fs/mount_state.h"

namespace arborfs {

/// Names with their `user.arborfs.` and values; empty for files that have none. Errors: as NodeRow.
Result<std::vector<std::pair<std::string, std::string>>> xattrs_of(MountState& state, Call& call, NodeId node);

}  // namespace arborfs
