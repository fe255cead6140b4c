// The first scan of the stores, which delays the start. Only reads; any thread.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/store/store_set.h"

namespace arborfs {

/// By folder: its logs with their heads, as StoreSet::logs found them, or the error.
using FolderScans = std::map<LogFolder, Result<std::vector<FoundLog>>>;

/// Scans these folders on two threads.
FolderScans scan_folders(const StoreSet& stores, const std::set<LogFolder>& folders);

}  // namespace arborfs
