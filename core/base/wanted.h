// Whether a client still waits for what a thread does. The thread that takes a request sets the question; code that is
// about to change a disk asks it, after it has waited for locks. Any thread; each has its own.
#pragma once

#include <functional>
#include <utility>

namespace arborfs {

class Wanted {
 public:
  /// From any thread, as often as wanted.
  using Still = std::function<bool()>;

  /// What this thread does while the object lives is wanted for as long as `still` says.
  explicit Wanted(Still still) : before_(std::exchange(current(), std::move(still))) {}
  ~Wanted() { current() = std::move(before_); }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

  /// Of this thread, for whichever does its work; always true where nothing was said.
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
