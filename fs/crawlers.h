// Tells programs that walk the mount from programs that follow `events`. The stream has no end, yet `rg`, `grep -r` and
// `cp -a` over the whole mount must have one (DESIGN 2): a process that has just listed the root of the mount finds the
// stream at its end where there is nothing new, any other waits. Thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <mutex>

namespace arborfs {

class Crawlers {
 public:
  static constexpr std::chrono::seconds kJust{2};

  /// `thread`, as a FUSE request names its caller, has opened the root folder.
  void listed_root(pid_t thread);
  /// Its process has done so less than kJust ago.
  [[nodiscard]] bool is_crawling(pid_t thread) const;

 private:
  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  std::map<pid_t, Clock::time_point> listed_;  // by process; guarded by mutex_
};

}  // namespace arborfs
