// Keeps connections of this process that look at a database apart from those that begin to write. SQLite opens the -shm
// of a database once in a process: if a read-only connection opens it, every other connection can also only read it.
// Internal to core/sqlite.
#pragma once

#include <shared_mutex>

namespace arborfs::sqlite {

/// Held shared while a reading connection is open, and exclusively while a writing one opens the -shm: then no other
/// lock is taken.
std::shared_timed_mutex& shared_memory_gate();

}  // namespace arborfs::sqlite
