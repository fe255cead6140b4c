// A slow lane for each folder of the store that is a mount of its own: requests that want something in it wait there
// when it hangs, and take no thread of others. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "fs/fuse/worker_pool.h"

namespace arborfs {

class SubmountPools {
 public:
  void submit(const std::string& folder, WorkerPool::Job job) { lane_of(folder)->submit(std::move(job)); }
  /// As WorkerPool::stop(), of all.
  void stop();

 private:
  static constexpr std::size_t kThreads = 2;  // of a lane
  static constexpr std::size_t kMost = 16;    // lanes; folders beyond share one
  std::shared_ptr<WorkerPool> lane_of(const std::string& folder);
  std::mutex mutex_;                                          // leaf
  std::map<std::string, std::shared_ptr<WorkerPool>> lanes_;  // by folder, "" the shared one; guarded by mutex_
  bool stopped_ = false;                                      // guarded by mutex_
};

}  // namespace arborfs
