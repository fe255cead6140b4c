// A store that is gone with the object: logs and blobs in memory, everything else as in files. For sessions that are
// not on disk yet, and for tests. Its logs are files without a name, so that reading, growing and writing them is the
// same code as for real ones. Thread-safe.
#pragma once

#include <memory>

#include "core/store/session_store.h"

namespace arborfs {

/// `disk` outlives it.
std::shared_ptr<SessionStore> make_memory_store(Disk& disk = Disk::real());

}  // namespace arborfs
