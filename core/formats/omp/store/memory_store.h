// A store whose logs and blobs are in memory and are lost with the object. For sessions that are not on disk yet, and
// for tests. Its logs are files without a name, so that the code that reads, follows and writes them is the same as for
// logs on disk. Thread-safe.
#pragma once

#include <memory>

#include "core/store/store.h"

namespace arborfs::omp {

/// `disk` outlives it.
std::shared_ptr<arborfs::Store> make_memory_store(Disk& disk = Disk::real());

}  // namespace arborfs::omp
