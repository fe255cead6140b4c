// Locks that processes hold, from /proc/locks. Probing by taking the lock would make another process fail that tries to
// take it at the same moment. Any thread.
#pragma once

#include <cstdint>
#include <set>

#include "core/os/file.h"

namespace arborfs {

/// The inode numbers of the files on which other processes that this one can see took flock(2) locks that are still
/// held. Files are distinguished by inode number, because some file systems report another device here than stat(2)
/// does.
std::set<std::uint64_t> inodes_flocked_elsewhere();
/// True if the file is one of them.
bool is_flocked_elsewhere(const FileStat& file);

}  // namespace arborfs
