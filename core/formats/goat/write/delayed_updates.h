// Updates of sessions' metadata that follow appends a moment later, so that a burst of appends costs one. Thread-safe;
// one thread of its own, from the first update on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/session/session.h"

namespace arborfs::goat {

class DelayedUpdates {
 public:
  using Update = std::function<void(const SessionPtr& session)>;
  /// `update` must not throw; it runs when no append has followed for `quiet`.
  DelayedUpdates(Update update, std::chrono::milliseconds quiet) : update_(std::move(update)), quiet_(quiet) {}
  /// Runs the updates that are due.
  ~DelayedUpdates();
  DelayedUpdates(const DelayedUpdates&) = delete;
  DelayedUpdates& operator=(const DelayedUpdates&) = delete;

  void add(const SessionPtr& session);
  /// Runs all updates that were added before, on this thread, except of a session that is added again meanwhile.
  void settle();

 private:
  using Clock = std::chrono::steady_clock;
  using Pending = std::map<std::uint32_t, std::pair<SessionPtr, Clock::time_point>>;  // by the session's number
  void work();
  /// False if none is due by then.
  bool update_one(Clock::time_point due);

  const Update update_;
  const std::chrono::milliseconds quiet_;
  std::mutex making_;  // one update at a time; locked before mutex_, held over I/O
  std::mutex mutex_;   // leaf; guards everything below
  std::condition_variable wake_;
  Pending pending_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace arborfs::goat
