// A thread that does part of a task that takes a few milliseconds.
#pragma once

#include <pthread.h>

#include <functional>
#include <memory>

namespace arborfs {

/// Starts on a different processor from its creator's, then may run on any processor that its creator may use. Left to
/// itself, the kernel often starts a thread on its creator's processor, especially in a virtual machine, where an idle
/// processor looks busy. The thread then waits for the next clock tick, up to 4 ms: longer than its share of the work
/// takes. Used by one thread.
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

}  // namespace arborfs
