// The right to append to a file of a session, by goat's own lock (goat/FORMAT.md C6). Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/os/disk.h"
#include "core/store/log_writer.h"

namespace arborfs::goat {

/// The name of the file that is locked in place of `file`.
std::string lock_file_of(const std::string& file);

/// Locks `file` in the folder of a session, and creates the file and its lock file if they are missing. `disk` outlives
/// the result. Errors: busy if another process or thread holds the lock for longer than goat waits; those of the disk.
Result<std::unique_ptr<LogWriter>> lock_log(Disk& disk, std::shared_ptr<const Dir> folder, const std::string& file);

/// The same without waiting and without creating a file: null if another process or thread holds the lock, or if the
/// file or its lock file cannot be opened.
std::unique_ptr<LogWriter> try_lock_log(Disk& disk, std::shared_ptr<const Dir> folder, const std::string& file);

/// Holds the lock of a file until it is closed. The same errors.
Result<UniqueFd> take_lock(Disk& disk, const Dir& folder, const std::string& file);

}  // namespace arborfs::goat
