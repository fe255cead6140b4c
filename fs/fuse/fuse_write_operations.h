// The callbacks of libfuse for what changes something, and the reading of control files. Everything that the mount
// never does is refused here with EPERM: so no editor's file is ever made.
#pragma once

#include "fs/fuse/fuse_dispatch.h"
#include "fs/fuse/fuse_request.h"

namespace arborfs {

/// flush and fsync too.
void add_write_operations(fuse_lowlevel_ops& ops);
/// For a mount that cannot be written to, should the kernel ask all the same.
void add_refusals(fuse_lowlevel_ops& ops);

/// Whether an open is of a control file.
bool is_control_open(fuse_req_t req, fuse_ino_t ino, bool is_for_writing);
void open_control(fuse_req_t req, fuse_ino_t ino, fuse_file_info info);
void read_control(fuse_req_t req, ControlFilePtr control, std::size_t size);

}  // namespace arborfs
