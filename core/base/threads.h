// Threads that do a part of a task, and how the kernel schedules a thread.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>

namespace arborfs {

// A thread that does part of a task that takes a few milliseconds.

/// Starts on a different processor from its creator's, then may run on any processor that its creator may use. Left to
/// itself, the kernel often starts a thread on its creator's processor, especially in a virtual machine, where an idle
/// processor looks busy. The thread then waits for the next clock tick, up to 4 ms: longer than its share of the work
/// takes. Its work is cancelled with its creator's (Cancellation). Used by one thread.
class HelperThread {
 public:
  /// Throws std::system_error if no thread can be started. An exception from `work` ends the process.
  explicit HelperThread(std::function<void()> work);
  /// Waits until `work` returns, unless it was dropped.
  ~HelperThread();
  /// Drops `work` if it has not begun: it never will then. Returns true if it was dropped.
  bool drop_unless_begun();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

 private:
  struct Task;
  std::shared_ptr<Task> task_;  // the thread has it too
  pthread_t thread_{};
  bool is_dropped_ = false;
};

// Runs independent pieces of work on the calling thread and one helper.

/// Calls work(i) once for each i below `count`, on two threads, in roughly ascending order; returns when all are done.
/// If `work` throws in either thread, no further calls start, and the exception is rethrown when both have ended.
template <class Work>
void parallel_for(std::size_t count, const Work& work) {
  constexpr std::size_t kTurns = 256;  // enough to share out work that is unequal, few enough to cost little
  const std::size_t step = std::max<std::size_t>(1, count / kTurns);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stops{false};
  const auto run = [&](std::exception_ptr& thrown) {
    try {
      for (std::size_t begin = next.fetch_add(step); begin < count; begin = next.fetch_add(step)) {
        for (std::size_t i = begin; i < std::min(begin + step, count) && !stops; ++i) {
          work(i);
        }
      }
    } catch (...) {
      thrown = std::current_exception();
      stops = true;
    }
  };
  std::exception_ptr thrown_here;
  std::exception_ptr thrown_there;
  std::optional<HelperThread> helper;
  if (count > 1) {
    try {
      helper.emplace([&] { run(thrown_there); });
    } catch (const std::system_error&) {  // no thread available: this one does all the work
    }
  }
  run(thrown_here);
  if (helper) {
    helper->drop_unless_begun();  // the kernel may need longer to start it than the work took
    helper.reset();
  }
  for (const std::exception_ptr& thrown : {thrown_here, thrown_there}) {
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  }
}

/// Requests a short time slice for the calling thread, so that the kernel runs it as soon as it wakes. Otherwise a
/// thread that wakes while another program is busy may wait some milliseconds for the next clock tick. Meant for
/// threads that do short work for a waiting client; a thread that wakes often would interrupt the program that it
/// serves. Has no effect before Linux 6.12.
void request_short_thread_slice();

/// From now on the calling thread runs, and accesses disks, only when no other program wants to, as far as the kernel
/// permits. It must hold no lock that another thread waits for.
void make_thread_idle();

}  // namespace arborfs
