// The table of libfuse callbacks (fuse_operations.cc).
#pragma once

#include "fs/fuse_request.h"

namespace arborfs {

/// For a FuseServer as user data. `with_xattrs`: without, the kernel is told once and never asks again.
fuse_lowlevel_ops fuse_operations(bool with_xattrs);

}  // namespace arborfs
