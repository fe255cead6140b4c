// One worker pool for each submount of the stores. Requests for a submount that hangs wait in its pool and take no
// threads from others. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/store/session_store.h"
#include "fs/fuse/worker_pool.h"

namespace arborfs {

class SubmountPools {
 public:
  void submit(const LogFolder& submount, WorkerPool::Job job) { pool_of(submount)->submit(std::move(job)); }
  /// Calls WorkerPool::stop() on all pools.
  void stop();

 private:
  static constexpr std::size_t kMost = 16;  // number of pools; further submounts share one
  std::shared_ptr<WorkerPool> pool_of(const LogFolder& submount);
  std::mutex mutex_;                                        // leaf
  std::map<LogFolder, std::shared_ptr<WorkerPool>> pools_;  // by submount; guarded by mutex_
  std::shared_ptr<WorkerPool> shared_;                      // of the others; guarded by mutex_
  bool stopped_ = false;                                    // guarded by mutex_
};

}  // namespace arborfs
