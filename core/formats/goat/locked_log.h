// The right to append to a file of a session, by goat's own lock (goat/FORMAT.md C6). Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/os/disk.h"
#include "core/store/log_writer.h"

namespace arborfs::goat {

/// Locks `file` in the folder of a session, and creates the file and its lock file if they are missing. `disk` outlives
/// the result. Errors: busy if another process or thread holds the lock for longer than goat waits; those of the disk.
Result<std::unique_ptr<LogWriter>> lock_log(Disk& disk, Dir folder, const std::string& file);

/// Holds the lock of a file until it is closed. The same errors.
Result<UniqueFd> take_lock(Disk& disk, const Dir& folder, const std::string& file);

}  // namespace arborfs::goat
