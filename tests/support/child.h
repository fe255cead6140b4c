// A second process that runs concurrently with the test.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace arborfs::testing {

/// Runs `work` in a child of this process, which inherits the open descriptors. The child is killed with the object at
/// the latest. Create it while the process has only one thread.
class Child {
 public:
  template <class Work>
  explicit Child(const Work& work) : pid_(::fork()) {
    if (pid_ == 0) {
      work();
      ::_exit(1);
    }
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

}  // namespace arborfs::testing
