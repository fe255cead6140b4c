// Work on threads of its own that its caller may give up: the thread is left behind, and ends when the work does.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/wanted.h"

namespace arborfs {

class LeftBehind {
 public:
  LeftBehind() = default;
  /// As wait().
  ~LeftBehind() { wait(); }
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;

  /// Runs `work` on a thread of its own and returns its value, or nothing once `goes_on`, which is called from time to
  /// time, returns false. Then `work` is cancelled, by its argument, Cancellation and Wanted, but may still run: what
  /// it refers to must outlive this object. Rethrows its exception. Throws std::system_error if no thread can be
  /// started.
  template <class T>
  std::optional<T> run(std::function<T(const std::atomic<bool>* cancelled)> work, const std::function<bool()>& goes_on);

  /// Waits for all work that was given up.
  void wait();

 private:
  static constexpr std::chrono::milliseconds kLook{50};

  struct Task {
    std::mutex mutex;  // leaf
    std::condition_variable ended;
    bool has_ended = false;  // guarded by mutex
    std::atomic<bool> cancelled{false};
    std::exception_ptr thrown;
    std::thread thread;
    void end() {
      const std::lock_guard lock(mutex);
      has_ended = true;
      ended.notify_all();
    }
  };
  template <class T>
  struct TaskOf : Task {
    std::optional<T> value;
  };

  static bool await(Task& task, const std::function<bool()>& goes_on);
  void leave(std::shared_ptr<Task> task);

  std::mutex mutex_;                        // leaf
  std::list<std::shared_ptr<Task>> tasks_;  // given up; guarded by mutex_
};

template <class T>
std::optional<T> LeftBehind::run(std::function<T(const std::atomic<bool>* cancelled)> work,
                                 const std::function<bool()>& goes_on) {
  const auto task = std::make_shared<TaskOf<T>>();
  task->thread = std::thread([task, work = std::move(work)] {
    try {
      const Cancellation cancellation(&task->cancelled);
      const Wanted wanted([task] { return !task->cancelled; });
      task->value = work(&task->cancelled);
    } catch (...) {
      task->thrown = std::current_exception();
    }
    task->end();
  });
  bool has_ended = false;
  try {
    has_ended = await(*task, goes_on);
  } catch (...) {
    leave(task);
    throw;
  }
  if (!has_ended) {
    leave(task);
    return std::nullopt;
  }
  task->thread.join();
  if (task->thrown) {
    std::rethrow_exception(task->thrown);
  }
  return std::move(task->value);
}

}  // namespace arborfs
