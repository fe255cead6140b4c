// Files that are read without having been opened. A read-only mount wants no OPEN: the kernel then asks for none, and
// says nothing of closing either, which leaves one request of three for a file that is read the first time and none
// for later readers. Nobody can tell who still reads a file, so what takes more than one read is held here as if
// it were open, and shows one state of its log (CONTRACT.md 2.5), until it has not been read for kLinger.
// Thread-safe; mutex_ is a leaf.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "fs/tree/node_id.h"
#include "fs/tree/open_file.h"

namespace arborfs {

class ImplicitHandles {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 64;
  static constexpr std::chrono::seconds kLinger{10};

  /// Null when it is not held. Its time begins anew.
  OpenFilePtr find(NodeId node, Clock::time_point now = Clock::now());
  /// Holds a file; that of another reader stays where there is one already. Beyond kMost the one goes that was not read
  /// for longest.
  void hold(NodeId node, OpenFilePtr file, Clock::time_point now = Clock::now());
  /// Lets go of what was not read for kLinger: it may keep a log open that is gone, and with it its room on the disk.
  /// Costs nothing while nothing is held.
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
