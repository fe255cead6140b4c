// The serving process: the catalog and all threads except those for requests. They start after the fork and stop in an
// order in which no thread waits for one that has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/store/store_set.h"
#include "core/writer/writer.h"
#include "fs/fuse/mount_settings.h"

namespace arborfs {

struct DaemonPlan {
  StoreSet stores;
  MountSettings settings{};
  WriteSettings writing{};
  bool inotify = true;
  std::size_t index_bytes = 0;  // limit of LoadedIndexes
  std::string home{};
  bool search_index = true;  // searches use an index in the cache folder, and keep it up to date
};

/// Mounts and serves until unmounted or until SIGTERM, SIGINT, SIGHUP, SIGQUIT or SIGXCPU, which is a success too.
/// Ignores SIGPIPE, SIGIO, SIGUSR1, SIGUSR2 and SIGALRM, which would end the process and leave a dead mount. Calls
/// `on_ready` once mounted, and `on_leaving` once no more requests are served. The caller must have no other threads.
/// Errors: io.
Result<void> run_daemon(const DaemonPlan& plan, const std::function<void()>& on_ready,
                        const std::function<void()>& on_leaving);

}  // namespace arborfs
