// The kernel looks a name up and opens its node in two requests. If the open fails as stale, because the session has
// changed in between, the kernel repeats both once, and returns ESTALE to the client only if that fails too. The second
// open of a thread follows a lookup of the same system call, so the document found by that lookup is right for it, even
// if the session has changed again.
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
  /// An open of `node` by the thread `client` was refused as stale.
  void note_refused(pid_t client, NodeId node);
  /// True if this open by the thread repeats a refused one, with another node of the same name. True only once.
  bool take(pid_t client, NodeId node);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kMemory{10};  // the longest time between the two opens, on a busy machine
  static constexpr std::size_t kMost = 256;
  struct Refused {
    NodeId node;
    Clock::time_point when;
  };
  std::mutex mutex_;
  std::unordered_map<pid_t, Refused> refused_;  // guarded by mutex_
};

}  // namespace arborfs
