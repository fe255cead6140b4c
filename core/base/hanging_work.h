// Work that may hang, such as a question to a file system, on threads that a caller need not wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/log.h"
#include "core/base/wanted.h"

namespace arborfs {

/// Asks a question that may hang, such as one to a file system: a thread of its own waits for the answer, and callers
/// at most `patience`. One question at a time: while it hangs, later callers do not wait. Thread-safe.
template <class T>
class PatientAsk {
 public:
  /// The last answer, T{} before the first one. `is_late`: the present question is not answered yet.
  struct Answer {
    T value{};
    bool is_late = false;
  };
  /// `ask` does not throw; it may outlive this object. An answer serves for `fresh`.
  PatientAsk(std::function<T()> ask, std::chrono::milliseconds patience, std::chrono::milliseconds fresh)
      : ask_(std::move(ask)), patience_(patience), fresh_(fresh), state_(std::make_shared<State>()) {}

  /// Asks, unless there is a fresh answer or the question hangs, and does not wait.
  void begin() {
    const std::lock_guard lock(state_->mutex);
    begin_locked();
  }

  /// Asks and waits until `patience` after the question was asked.
  Answer now() {
    std::unique_lock lock(state_->mutex);
    begin_locked();
    state_->answered.wait_until(lock, state_->asked + patience_, [this] { return !state_->is_asking; });
    return {state_->known, state_->is_asking};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct State {
    std::mutex mutex;  // leaf
    std::condition_variable answered;
    T known{};                        // guarded by mutex
    bool is_asking = false;           // guarded by mutex
    Clock::time_point asked{};        // guarded by mutex
    Clock::time_point fresh_until{};  // guarded by mutex
  };

  void begin_locked() {
    if (state_->is_asking || Clock::now() < state_->fresh_until) {
      return;
    }
    try {
      std::thread([ask = ask_, fresh = fresh_, state = state_] { answer(ask, fresh, *state); }).detach();
      state_->is_asking = true;
      state_->asked = Clock::now();
    } catch (const std::system_error&) {
      log_exception("cannot start a thread that asks a file system");
    }
  }
  static void answer(const std::function<T()>& ask, std::chrono::milliseconds fresh, State& state) noexcept {
    T found = ask();
    const std::lock_guard lock(state.mutex);
    state.known = std::move(found);
    state.is_asking = false;
    state.fresh_until = Clock::now() + fresh;
    state.answered.notify_all();
  }

  const std::function<T()> ask_;
  const std::chrono::milliseconds patience_;
  const std::chrono::milliseconds fresh_;
  const std::shared_ptr<State> state_;  // shared with a thread that may outlive this
};

/// Work on threads of its own that its caller may give up: the thread is left behind, and ends when the work does.
/// Thread-safe.
class LeftBehind {
 public:
  LeftBehind() = default;
  /// As wait().
  ~LeftBehind() { wait(); }
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;

  /// Runs `work` on a thread of its own and returns its value, or nothing once `goes_on`, which is called from time to
  /// time, returns false. Then `work` is cancelled and not Wanted, but may still run: what it refers to must outlive
  /// this object. Rethrows its exception. Throws std::system_error if no thread can be started.
  template <class T>
  std::optional<T> run(std::function<T()> work, const std::function<bool()>& goes_on);

  /// Waits for all work that was given up.
  void wait();

 private:
  static constexpr std::chrono::milliseconds kLook{50};

  struct Task {
    std::mutex mutex;  // leaf
    std::condition_variable ended;
    bool has_ended = false;  // guarded by mutex
    std::stop_source stop;
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
std::optional<T> LeftBehind::run(std::function<T()> work, const std::function<bool()>& goes_on) {
  const auto task = std::make_shared<TaskOf<T>>();
  task->thread = std::thread([task, work = std::move(work)] {
    try {
      const Cancellation cancellation(task->stop.get_token());
      const Wanted wanted([task] { return !task->stop.stop_requested(); });
      task->value = work();
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
