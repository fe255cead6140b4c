// Whether what a thread is doing is still wanted: for work so deep below its caller that nobody hands it down.
#pragma once

#include <atomic>
#include <utility>

namespace arborfs {

/// While it lives, this thread's long reading ends with `interrupted` once `flag` is true. `flag` outlives it.
class Cancellation {
 public:
  explicit Cancellation(const std::atomic<bool>* flag) : before_(std::exchange(current_, flag)) {}
  ~Cancellation() { current_ = before_; }
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  /// Null: nothing ends it.
  static const std::atomic<bool>* current() { return current_; }

 private:
  static inline thread_local const std::atomic<bool>* current_ = nullptr;
  const std::atomic<bool>* const before_;
};

}  // namespace arborfs
