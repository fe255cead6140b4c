// A worker pool for each folder of the store that is a mount of its own. Requests for a folder that hangs wait in its
// pool and take no thread from others. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "fs/fuse/worker_pool.h"

namespace arborfs {

class SubmountPools {
 public:
  void submit(const std::string& folder, WorkerPool::Job job) { pool_of(folder)->submit(std::move(job)); }
  /// As WorkerPool::stop(), of all.
  void stop();

 private:
  static constexpr std::size_t kThreads = 2;  // of a pool
  static constexpr std::size_t kMost = 16;    // pools; folders beyond share one
  std::shared_ptr<WorkerPool> pool_of(const std::string& folder);
  std::mutex mutex_;                                          // leaf
  std::map<std::string, std::shared_ptr<WorkerPool>> pools_;  // by folder, "" the shared one; guarded by mutex_
  bool stopped_ = false;                                      // guarded by mutex_
};

}  // namespace arborfs
