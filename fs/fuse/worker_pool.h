// The threads for what may take long, so that the kernel's other requests never wait for it (CONTRACT.md 7.11). Jobs
// wait in order; a job that nobody waits for any more still runs, because its result (an index, a document) helps the
// next. Thread-safe. Threads start with the first job; mutex_ is a leaf.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace arborfs {

class WorkerPool {
 public:
  using Job = std::function<void(const std::atomic<bool>* cancelled)>;

  static constexpr std::size_t kThreads = 8;
  /// Threads of callers that may be used at a time; whoever has them has more.
  static constexpr std::size_t kBorrowed = 1;
  /// `threads` at most; each starts when a job finds no idle one.
  explicit WorkerPool(std::size_t threads = kThreads) : most_threads_(threads) {}
  /// As stop().
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// After stop(), and where no thread can be had, it is run at once on the caller's thread. What it throws is logged.
  void submit(Job job);
  /// On the caller's thread, which saves waking another; but as submit() when others use theirs so already, which
  /// false says.
  bool run_or_submit(Job job);
  /// Tells jobs that they are cancelled, those on threads of callers too.
  void cancel();
  /// As cancel(); runs waiting ones so that they can answer, and joins.
  void stop();

 private:
  void run();
  bool queue(Job& job);
  bool start_thread();
  void do_job(const Job& job);
  const std::size_t most_threads_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::size_t> borrowed_{0};  // threads of callers
  std::deque<Job> jobs_;                  // guarded by mutex_
  std::size_t idle_ = 0;                  // guarded by mutex_
  std::vector<std::thread> threads_;      // guarded by mutex_ until stop()
};

}  // namespace arborfs
