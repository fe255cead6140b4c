// Locks that processes hold, from /proc/locks. Probing by taking the lock would make another process fail that tries to
// take it at the same moment. Any thread.
#pragma once

#include "core/os/file.h"

namespace arborfs {

/// True if another process that this one can see took an flock(2) lock on the file that is still held. Files are
/// distinguished by inode number, because some file systems report another device here than stat(2) does.
bool is_flocked_elsewhere(const FileStat& file);

}  // namespace arborfs
