// Notices what other processes do to a store: inotify where the kernel has it, a poll twice a second besides
// (CONTRACT.md 3.2). One thread of its own. It tells the catalog, the catalog tells the feed.
#pragma once

#include <memory>
#include <string>

#include "core/session/catalog.h"

namespace arborfs {

class Watcher {
 public:
  enum class Mode { inotify, poll_only };
  /// Watches, looks at the whole store (Catalog::rescan) and starts the thread, in this order: what happens from the
  /// look on is noticed. `catalog` must outlive the watcher. In poll_only mode inotify is not used at all.
  Watcher(Catalog& catalog, Mode mode);
  /// Stops and joins.
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
