// Files that are read without having been opened. A read-only mount refuses OPEN with ENOSYS: the kernel then sends
// neither OPEN nor RELEASE, so the first read of a file takes one request instead of three, and later readers need
// none. As the mount cannot know whether a file is still being read, one that takes more than one read is held here as
// if it were open, and shows one state of its log (CONTRACT.md 2.5), until it has not been read for kLinger.
// Thread-safe; mutex_ is a leaf.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "fs/nodes/open_file.h"
#include "fs/tree/node_id.h"

namespace arborfs {

class ImplicitHandles {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 64;
  static constexpr std::chrono::seconds kLinger{10};

  /// Null if the file is not held. Restarts its kLinger.
  OpenFilePtr find(NodeId node, Clock::time_point now = Clock::now());
  /// Holds a file; if the node has one already, that one is kept. Beyond kMost the least recently read one is dropped.
  void hold(NodeId node, OpenFilePtr file, Clock::time_point now = Clock::now());
  /// Drops files that were not read for kLinger: one may keep a deleted log open, and so its space on the disk
  /// allocated. Costs nothing while none is held.
  void let_go(Clock::time_point now = Clock::now());

 private:
  struct Held {
    OpenFilePtr file;
    Clock::time_point read;
  };
  std::mutex mutex_;
  std::unordered_map<NodeId, Held> held_;  // guarded by mutex_
  std::atomic<bool> has_some_{false};
};

}  // namespace arborfs
