// The table of libfuse callbacks (fuse_operations.cc).
#pragma once

#include "fs/fuse/fuse_request.h"
#include "fs/fuse/mount_settings.h"

namespace arborfs {

/// For a FuseServer as user data. Features that a mount lacks (extended attributes unless enabled; on a read-only mount
/// OPEN and everything that needs it, see ImplicitHandles) are refused once, and the kernel never asks for them
/// again.
fuse_lowlevel_ops fuse_operations(const MountSettings& settings);

}  // namespace arborfs
