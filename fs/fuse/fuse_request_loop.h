// The threads that take the kernel's requests and answer them. A thread without work sleeps, but while requests arrive
// in quick succession, as from a program that reads file after file, one thread polls for the next. Most of the time of
// a short request is spent on waking two threads (tools/benchmarks/README.md, "Requests"); polling avoids that.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "core/base/unique_fd.h"
#include "fs/fuse/fuse_request.h"

namespace arborfs {

/// Decides whether requests follow each other so closely that polling for the next one pays off. Thread-safe.
class BusyPoll {
 public:
  using Clock = std::chrono::steady_clock;
  /// A request counts as soon if it arrives within this time of an answer. A program that reads small files in a row
  /// comes back after 5 to 30 µs; polling for longer than kSoon takes processor time from others.
  static constexpr std::chrono::microseconds kSoon{50};

  void came(Clock::time_point when) { is_brisk_ = when - answered_.load() < kSoon; }
  /// Returns until when the next request would count as soon.
  Clock::time_point answered(Clock::time_point when) {
    answered_ = when;
    return when + kSoon;
  }
  /// True if the last request arrived soon.
  [[nodiscard]] bool is_brisk() const { return is_brisk_; }

 private:
  std::atomic<Clock::time_point> answered_{Clock::time_point{} - kSoon};
  std::atomic<bool> is_brisk_{false};
};

class FuseRequestLoop {
 public:
  /// The session must be mounted and outlive the loop. `on_stop` (may be empty) is called when no more requests are
  /// taken, while some may still be in progress; possibly more than once, from any thread.
  explicit FuseRequestLoop(fuse_session* session, std::function<void()> on_stop = {});
  FuseRequestLoop(const FuseRequestLoop&) = delete;
  FuseRequestLoop& operator=(const FuseRequestLoop&) = delete;

  /// Serves with this many threads, including the caller's, and one in reserve, until the kernel ends the connection or
  /// stop() is called; with fewer if no more can be started. Calls `on_ready` on the caller's thread once the kernel's
  /// INIT is answered, before any other request is taken. Returns 0, or -errno if serving failed (-ECONNABORTED: the
  /// connection was aborted from outside; -EPROTO: libfuse refused INIT). Call it once.
  int run(unsigned threads, const std::function<void()>& on_ready);
  /// Makes run() return once the requests in progress are answered, or immediately if it has not begun. From any
  /// thread.
  void stop();
  /// Lets one more thread take requests for a while, because some are kept waiting. From any thread; cheap while it
  /// already does.
  void call_reserve();

 private:
  enum class Duty { always, when_called };
  [[nodiscard]] std::vector<UniqueFd> make_pollers(std::size_t count) const;
  int take_init(int poller);
  void serve_all(const std::vector<UniqueFd>& pollers);
  void work(int poller, Duty duty);
  void stand_by(int poller);
  int serve(int poller, Duty duty, fuse_buf& buffer);
  int receive(fuse_buf& buffer, BusyPoll::Clock::time_point awake_until);
  fuse_session* const session_;
  const std::function<void()> on_stop_;
  UniqueFd stopped_;  // readable once stop() was called
  std::atomic<bool> is_stopping_{false};
  BusyPoll pace_;
  std::atomic<bool> is_one_awake_{false};
  std::atomic<BusyPoll::Clock::time_point> called_{BusyPoll::Clock::time_point{}};  // when the reserve was last called
  std::atomic<int> error_{0};
};

}  // namespace arborfs
