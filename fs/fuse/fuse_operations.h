// The table of libfuse callbacks (fuse_operations.cc).
#pragma once

#include "fs/fuse/fuse_request.h"
#include "fs/fuse/mount_settings.h"

namespace arborfs {

/// For a FuseServer as user data. What a mount does not have (extended attributes unless they are wanted; on a
/// read-only one OPEN and all that needs it, see implicit_handles.h) the kernel is told once and never asks for again.
fuse_lowlevel_ops fuse_operations(const MountSettings& settings);

}  // namespace arborfs
