#include "core/session/parallel_scan.h"

#include <optional>

#include "core/base/parallel_for.h"

namespace arborfs {

FolderScans scan_folders(const StoreSet& stores, const std::set<LogFolder>& folders) {
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
