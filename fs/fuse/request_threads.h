// The threads that take the kernel's requests and answer them, and those to which requests move that may take long.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/store/store.h"
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

/// A thread without work sleeps, but while requests arrive in quick succession, as from a program that reads file after
/// file, one thread polls for the next. Most of the time of a short request is spent on waking two threads; polling
/// took `rg` over 14,890 files from 0.31 to 0.19 s (tools/benchmarks/README.md, "Requests").
class FuseRequestLoop {
 public:
  /// The session must be mounted and outlive the loop. `on_stop` (may be empty) is called when no more requests are
  /// taken, while some may still be in progress; possibly more than once, from any thread.
  explicit FuseRequestLoop(fuse_session* session, std::function<void()> on_stop = {});
  FuseRequestLoop(const FuseRequestLoop&) = delete;
  FuseRequestLoop& operator=(const FuseRequestLoop&) = delete;

  /// Serves with this many threads, including the caller's, until the kernel ends the connection or stop() is called;
  /// with fewer if no more can be started. Calls `on_ready` on the caller's thread once the kernel's
  /// INIT is answered, before any other request is taken. Returns 0, or -errno if serving failed (-ECONNABORTED: the
  /// connection was aborted from outside; -EPROTO: libfuse refused INIT). Call it once.
  int run(unsigned threads, const std::function<void()>& on_ready);
  /// Makes run() return once the requests in progress are answered, or immediately if it has not begun. From any
  /// thread.
  void stop();

 private:
  [[nodiscard]] std::vector<UniqueFd> make_pollers(std::size_t count) const;
  int take_init(int poller);
  void serve_all(const std::vector<UniqueFd>& pollers);
  void work(int poller);
  int serve(int poller, fuse_buf& buffer);
  int receive(fuse_buf& buffer, BusyPoll::Clock::time_point awake_until);
  fuse_session* const session_;
  const std::function<void()> on_stop_;
  UniqueFd stopped_;  // readable once stop() was called
  std::atomic<bool> is_stopping_{false};
  BusyPoll pace_;
  std::atomic<bool> is_one_awake_{false};
  std::atomic<int> error_{0};
};

/// Threads for jobs that may take long, so that the kernel's other requests never wait for them (CONTRACT.md 7.11).
/// Jobs start in order. Thread-safe. Threads start with the first job; mutex_ is a leaf.
class WorkerPool {
 public:
  /// `stop` is that of the job's Cancellation: cancel() and stop() use it, and the job may hand it to others that end
  /// it.
  using Job = std::function<void(std::stop_source& stop)>;

  static constexpr std::size_t kThreads = 8;
  /// How many jobs may run on callers' threads at a time; there must be more calling threads than this.
  static constexpr std::size_t kBorrowed = 1;
  /// At most `threads`; each is started when a job finds no idle one.
  explicit WorkerPool(std::size_t threads = kThreads) : most_threads_(threads) {}
  /// As stop().
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Queues a job. After cancel() or stop(), or if no thread can be started, runs it on the caller's thread. Its
  /// exceptions are logged.
  void submit(Job job);
  /// Runs a job on the caller's thread, which saves waking another: a fifth of a synced append of one writer
  /// (tools/benchmarks/README.md, "Requests"). If kBorrowed callers already do so, calls submit().
  void run_or_submit(Job job);
  /// Tells all jobs that they are cancelled, including those on callers' threads.
  void cancel();
  /// As cancel(); then runs the waiting jobs, so that they can answer, and joins the threads.
  void stop();

 private:
  /// A job that runs, on the stack of its thread: no memory may be short for it.
  struct Running {
    std::stop_source stop;
    Running* next = nullptr;
  };
  void run();
  bool queue(Job& job);
  bool start_thread();
  void do_job(const Job& job);
  const std::size_t most_threads_;
  void tell_all_locked();
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::size_t> borrowed_{0};  // jobs on callers' threads
  std::deque<Job> jobs_;                  // guarded by mutex_
  Running* running_ = nullptr;            // the jobs that run, as a list; guarded by mutex_
  std::size_t idle_ = 0;                  // guarded by mutex_
  std::vector<std::thread> threads_;      // guarded by mutex_ until stop()
};

/// One worker pool for each submount of the stores. Requests for a submount that hangs wait in its pool and take no
/// threads from others. Thread-safe.
class SubmountPools {
 public:
  void submit(const LogFolder& submount, WorkerPool::Job job) { pool_of(submount)->submit(std::move(job)); }
  /// Calls WorkerPool::stop() on all pools.
  void stop();

 private:
  static constexpr std::size_t kMost = 16;  // number of pools; further submounts share one
  std::shared_ptr<WorkerPool> pool_of(const LogFolder& submount);
  std::mutex mutex_;                                        // leaf
  std::map<LogFolder, std::shared_ptr<WorkerPool>> pools_;  // by submount; guarded by mutex_
  std::shared_ptr<WorkerPool> shared_;                      // of the others; guarded by mutex_
  bool stopped_ = false;                                    // guarded by mutex_
};

}  // namespace arborfs
