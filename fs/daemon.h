// The serving process: the catalog and everything that runs beside the kernel's requests, started after the fork and
// stopped in the order that keeps every waiting thread able to go on.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/store/session_store.h"
#include "core/writer/writer.h"
#include "fs/fuse/mount_settings.h"

namespace arborfs {

struct DaemonPlan {
  std::shared_ptr<SessionStore> store;
  MountSettings settings;
  WriteSettings writing;
  bool inotify = true;
  std::size_t index_bytes = 0;  // LoadedIndexes
  std::string home;
};

/// Mounts and serves until unmounted or until SIGTERM, SIGINT, SIGHUP, SIGQUIT or SIGXCPU, which is a success too.
/// Other signals that would end the process and leave a dead mount are ignored. `on_ready` is called once mounted, and
/// `on_leaving` when no request is served any more. The caller must have no other threads. Errors: io.
Result<void> run_daemon(const DaemonPlan& plan, const std::function<void()>& on_ready,
                        const std::function<void()>& on_leaving);

}  // namespace arborfs
