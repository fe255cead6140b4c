// A thread-local cancellation flag, for work too deep in the call chain to receive one as an argument.
#pragma once

#include <atomic>
#include <utility>

namespace arborfs {

/// During its lifetime, long reads on this thread stop with `interrupted` once `flag` is true. `flag` must outlive it.
class Cancellation {
 public:
  explicit Cancellation(const std::atomic<bool>* flag) : before_(std::exchange(current_, flag)) {}
  ~Cancellation() { current_ = before_; }
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  /// Null if this thread's work cannot be cancelled.
  static const std::atomic<bool>* current() { return current_; }

 private:
  static inline thread_local const std::atomic<bool>* current_ = nullptr;
  const std::atomic<bool>* const before_;
};

}  // namespace arborfs
