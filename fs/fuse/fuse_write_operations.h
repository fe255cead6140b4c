// The libfuse callbacks for everything that changes something, and for reading control files. Operations that the mount
// never supports are refused here with EPERM, so no editor's file is ever made.
#pragma once

#include "fs/fuse/fuse_dispatch.h"
#include "fs/fuse/fuse_request.h"

namespace arborfs {

/// Also adds flush and fsync.
void add_write_operations(fuse_lowlevel_ops& ops);
/// For a read-only mount, in case the kernel asks anyway.
void add_refusals(fuse_lowlevel_ops& ops);

/// Whether an open is for a control file.
bool is_control_open(fuse_req_t req, fuse_ino_t ino, bool is_for_writing);
void open_control(fuse_req_t req, fuse_ino_t ino, fuse_file_info info);
void read_control(fuse_req_t req, ControlFilePtr control, std::size_t size);

}  // namespace arborfs
