// Detects changes by other processes in the stores of a catalog: inotify where the kernel has it, plus a poll twice a
// second (CONTRACT.md 3.2). Has its own thread. It notifies the catalog, which notifies the feed.
#pragma once

#include <memory>
#include <string>

#include "core/session/catalog.h"

namespace arborfs {

class Watcher {
 public:
  enum class Mode { inotify, poll_only };
  /// Adds the watches, scans all stores (Catalog::rescan) and starts the thread, in this order: no change after
  /// the scan is missed. `catalog` must outlive the watcher. In poll_only mode inotify is not used at all.
  Watcher(Catalog& catalog, Mode mode);
  /// Stops the thread and joins it.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  /// "inotify", or "polling: <why>".
  [[nodiscard]] std::string how() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace arborfs
