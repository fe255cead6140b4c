// The extended attributes of entries and sessions (CONTRACT.md 2.4, -o xattr). Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/tree/mount_state.h"
#include "fs/tree/request_context.h"

namespace arborfs {

/// Names with their `user.arborfs.` prefix, and values; empty for files that have none. Errors: as NodeRow.
Result<std::vector<std::pair<std::string, std::string>>> xattrs_of(MountState& state, RequestContext& call,
                                                                   NodeId node);

}  // namespace arborfs
