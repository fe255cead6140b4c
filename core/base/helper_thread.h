// A thread that takes over part of a piece of work of some milliseconds.
#pragma once

#include <pthread.h>

#include <functional>
#include <memory>

namespace arborfs {

/// Begins on another processor than its maker runs on, and may then run on any that its maker may. Left to itself the
/// kernel often starts a thread beside its maker, above all in a virtual machine, where a processor that is idle looks
/// taken; it then waits for the clock's next tick, up to 4 ms: longer than its part of the work takes.
/// Used by one thread.
class HelperThread {
 public:
  /// Throws std::system_error when no thread can be had. What `work` throws ends the process.
  explicit HelperThread(std::function<void()> work);
  /// Waits for its end.
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

 private:
  struct Task;
  std::unique_ptr<Task> task_;
  pthread_t thread_{};
};

}  // namespace arborfs
