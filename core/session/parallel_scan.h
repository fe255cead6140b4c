// The first scan of the stores, which delays the start. Only reads; any thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/parallel_for.h"
#include "core/store/store_set.h"

namespace arborfs {

/// By folder: its logs with their heads, as StoreSet::logs found them, or the error.
using FolderScans = std::map<LogFolder, Result<std::vector<FoundLog>>>;

/// Scans these folders on two threads.
inline FolderScans scan_folders(const StoreSet& stores, const std::set<LogFolder>& folders) {
  const std::vector<LogFolder> names(folders.begin(), folders.end());
  std::vector<std::optional<Result<std::vector<FoundLog>>>> looks(names.size());
  parallel_for(names.size(),
               [&](std::size_t i) { looks[i] = stores.logs(names[i], [](const LogPlace&) { return true; }); });
  FolderScans found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    found.emplace(names[i], std::move(*looks[i]));
  }
  return found;
}

}  // namespace arborfs
