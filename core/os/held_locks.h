// Locks that processes hold, from /proc/locks. Taking a lock to find out would make another process fail that tries at
// the same moment. Any thread.
#pragma once

#include "core/os/file.h"

namespace arborfs {

/// True if a process that this one can see holds an flock(2) lock on the file. Files are told apart by inode number,
/// because some file systems give another device here than stat(2) does.
bool is_flocked(const FileStat& file);

}  // namespace arborfs
