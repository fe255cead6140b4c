// Locks that processes hold, from /proc/locks. Probing by taking the lock would make another process fail that tries to
// take it at the same moment. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "core/os/file.h"

namespace arborfs {

/// The inode numbers of the files on which other processes that this one can see took flock(2) locks that are still
/// held. Files are distinguished by inode number, because some file systems report another device here than stat(2)
/// does.
std::set<std::uint64_t> inodes_flocked_elsewhere();
/// A process that holds such a lock on the file; nothing if none does, 0 if it is in another namespace of processes.
std::optional<long> flock_holder_elsewhere(const FileStat& file);

}  // namespace arborfs
