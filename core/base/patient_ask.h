// Asks a question that may hang, such as one to a file system: a thread of its own waits for the answer, and callers at
// most `patience`. One question at a time: while it hangs, later callers do not wait. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/exception_log.h"

namespace arborfs {

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

}  // namespace arborfs
