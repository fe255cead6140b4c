// The kernel looks a name up and opens what it leads to in two requests. When the open is refused as stale, because the
// session has moved on in between, it does both once more, and only when that fails too is the client told ESTALE. The
// second open of a thread follows a lookup of the same system call, so what that lookup found is right for it, whatever
// has happened since.
//
// Thread-safe; mutex_ is a leaf.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <unordered_map>

#include "fs/tree/node_id.h"

namespace arborfs {

class StaleRetry {
 public:
  /// The open of a node by this thread is refused as stale.
  void note_refused(pid_t client, NodeId node);
  /// True when this is its open after that: of another node under the same name. Once.
  bool take(pid_t client, NodeId node);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kMemory{10};  // between the two opens, on a busy machine
  static constexpr std::size_t kMost = 256;
  struct Refused {
    NodeId node;
    Clock::time_point when;
  };
  std::mutex mutex_;
  std::unordered_map<pid_t, Refused> refused_;  // guarded by mutex_
};

}  // namespace arborfs
