// The threads that take requests from the kernel and answer them. Each reads, works and reads again; they share nothing
// but the session, where libfuse's own loop takes two locks a request to start and end threads as they are needed.
// This, fuse_*.cc and invalidator.cc are the only places that know libfuse.
#pragma once

#include <pthread.h>

#include <mutex>
#include <vector>

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

namespace arborfs {

class FuseLoop {
 public:
  /// `session` is mounted and outlives it.
  FuseLoop(fuse_session* session, unsigned threads);
  FuseLoop(const FuseLoop&) = delete;
  FuseLoop& operator=(const FuseLoop&) = delete;

  /// Serves, on the caller's thread too, until the session is unmounted or told to exit; once. 0, or what reading
  /// failed with as a negative errno.
  int run();
  /// Wakes the threads that wait for a request, so that they see that the session has been told to exit. One that was
  /// just about to wait may miss it: to be called until it returns false, which means that none is left.
  bool wake();

 private:
  void work();
  void take_requests();
  void fail(int error);
  fuse_session* const session_;
  const unsigned count_;
  std::mutex mutex_;                // leaf
  std::vector<pthread_t> threads_;  // in work(); guarded by mutex_
  bool is_over_ = false;            // guarded by mutex_
  int error_ = 0;                   // guarded by mutex_
};

}  // namespace arborfs
