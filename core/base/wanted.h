// Whether a client still waits for the calling thread's work. The thread that takes a request sets the check; code that
// is about to change a disk calls it after it has waited for locks. Thread-local; any thread.
#pragma once

#include <functional>
#include <utility>

namespace arborfs {

class Wanted {
 public:
  /// Callable from any thread, any number of times.
  using Still = std::function<bool()>;

  /// During the object's lifetime, this thread's work is wanted while `still` returns true.
  explicit Wanted(Still still) : before_(std::exchange(current(), std::move(still))) {}
  ~Wanted() { current() = std::move(before_); }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

  /// This thread's check, which may be passed to another thread that does its work. Always true if none was set.
  static Still here() {
    return current() ? current() : [] { return true; };
  }

 private:
  static Still& current() {
    thread_local Still still;
    return still;
  }
  Still before_;
};

}  // namespace arborfs
