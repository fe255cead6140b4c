// Threads for jobs that may take long, so that the kernel's other requests never wait for them (CONTRACT.md 7.11). Jobs
// start in order. Thread-safe. Threads start with the first job; mutex_ is a leaf.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/store/session_store.h"

namespace arborfs {

class WorkerPool {
 public:
  /// `cancelled` is the job's own, and becomes true with cancel() and stop(); a job may hand it to others that end it.
  using Job = std::function<void(std::atomic<bool>* cancelled)>;

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
  /// Runs a job on the caller's thread, which saves waking another. If kBorrowed callers already do so, calls submit()
  /// and returns false.
  bool run_or_submit(Job job);
  /// Tells all jobs that they are cancelled, including those on callers' threads.
  void cancel();
  /// As cancel(); then runs the waiting jobs, so that they can answer, and joins the threads.
  void stop();

 private:
  /// A job that runs, on the stack of its thread: no memory may be short for it.
  struct Running {
    std::atomic<bool> cancelled{false};
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
