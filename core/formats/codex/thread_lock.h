// The right to change a thread that no program has loaded (codex/FORMAT.md A5, H2). Any thread.
#pragma once

#include <memory>
#include <string>

#include "core/formats/codex/store.h"
#include "core/store/log_writer.h"

namespace arborfs::codex {

/// Errors: busy, in words, if a program has the thread loaded. Takes no lock.
Result<void> check_not_loaded(const ThreadStore& store, const std::string& thread);

enum class WaitForThread : std::uint8_t {
  no,   // null if another process of arborfs writes to it
  yes,  // for a few seconds
};

/// The writer of the thread's active segment. It holds Codex's lock of the thread, if the lock file exists, and keeps
/// out other processes of arborfs by a lock of the segment, which Codex does not look at. `store` outlives it. Errors:
/// busy if a program has the thread loaded, or if another process of arborfs writes to it for too long; not_found;
/// those of the disk.
Result<std::unique_ptr<LogWriter>> lock_thread(const ThreadStore& store, const std::string& thread, WaitForThread wait);

}  // namespace arborfs::codex
