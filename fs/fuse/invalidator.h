// Invalidates the kernel's caches from a thread of its own, never with a lock held (CONTRACT.md 8.2). To invalidate a
// name the kernel locks its folder, so the thread may have to wait until requests in progress are answered; it must be
// stopped while requests are still served. For attributes the kernel locks nothing, so requests may invalidate those
// themselves (InvalidationQueue::tell_at_once).
#pragma once

#include <atomic>
#include <thread>

#include "fs/cache/invalidation_map.h"
#include "fs/cache/invalidation_queue.h"

struct fuse_session;

namespace arborfs {

class Invalidator {
 public:
  /// Starts the thread. All arguments outlive it.
  Invalidator(MountState& state, InvalidationQueue& news, fuse_session* session);
  /// Closes the queue and joins the thread.
  ~Invalidator();
  Invalidator(const Invalidator&) = delete;
  Invalidator& operator=(const Invalidator&) = delete;

 private:
  void run();
  template <class Work>
  bool has_done(const Work& work);
  void tell_all(const std::vector<Invalidation>& forgets);
  bool tell_name(const Invalidation& forget);
  const InvalidationMap map_;
  InvalidationQueue& news_;
  fuse_session* const session_;
  bool can_expire_ = true;  // used only by the thread
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace arborfs
