// The first scan of a store, which delays the start. Only reads; any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/store/session_store.h"

namespace arborfs {

/// By folder: its logs with their heads, as SessionStore::logs found them, or the error.
using FolderScans = std::map<std::string, Result<std::vector<FoundLog>>>;

/// Scans these folders on two threads.
FolderScans scan_folders(const SessionStore& store, const std::set<std::string>& folders);

}  // namespace arborfs
