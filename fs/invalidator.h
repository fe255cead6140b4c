// Tells the kernel what changed, from a thread of its own: never from a request, never with a lock held (DESIGN 10).
// The kernel may make it wait until requests in progress are answered, so it must be stopped while they still are.
#pragma once

#include <atomic>
#include <thread>

#include "fs/change_map.h"
#include "fs/kernel_news.h"

struct fuse_session;

namespace arborfs {

class Invalidator {
 public:
  /// Starts the thread. All arguments outlive it.
  Invalidator(MountState& state, KernelNews& news, fuse_session* session);
  /// Closes the news and joins.
  ~Invalidator();
  Invalidator(const Invalidator&) = delete;
  Invalidator& operator=(const Invalidator&) = delete;

 private:
  void run();
  void tell_all(const std::vector<Forget>& forgets);
  void tell(const Forget& forget);
  ChangeMap map_;
  KernelNews& news_;
  fuse_session* const session_;
  bool can_expire_ = true;  // used by the thread alone
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace arborfs
