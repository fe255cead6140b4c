// Resources that the process runs out of while the object exists.
#pragma once

#include <pthread.h>
#include <sys/resource.h>

namespace arborfs::testing {

/// No thread can be started: each would need a larger stack than there is address space.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_attr_t greedy;
    ::pthread_getattr_default_np(&before_);
    ::pthread_attr_init(&greedy);
    ::pthread_attr_setstacksize(&greedy, std::size_t{1} << 46);
    ::pthread_setattr_default_np(&greedy);
    ::pthread_attr_destroy(&greedy);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  ::pthread_attr_t before_{};
};

/// No descriptor can be opened; open ones stay open.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace arborfs::testing
