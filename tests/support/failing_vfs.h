// SQLite's system calls, each of which a test can make fail. Use one object at a time, from one thread.
#pragma once

#include <climits>
#include <string>

#include "tests/support/wrapped_vfs.h"

namespace arborfs::testing {

class FailingVfs : public WrappedVfs {
 public:
  static constexpr unsigned kForGood = UINT_MAX / 2;

  /// From now on the `at`-th call (from 1) fails, and so do the next ones, `count` in all.
  void arm(unsigned at, unsigned count) {
    at_ = at;
    count_ = count;
    done_ = 0;
    met_.clear();
  }
  void disarm() { at_ = 0; }
  /// The first call that failed; "" if none did.
  [[nodiscard]] const std::string& met() const { return met_; }

 private:
  bool fails(const char* call) override {
    ++done_;
    const bool now = at_ != 0 && done_ >= at_ && done_ - at_ < count_;
    if (now && met_.empty()) {
      met_ = call;
    }
    return now;
  }

  unsigned at_ = 0;  // 0: not armed
  unsigned count_ = 0;
  unsigned done_ = 0;
  std::string met_;
};

}  // namespace arborfs::testing
