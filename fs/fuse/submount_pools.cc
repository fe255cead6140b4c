#include "fs/fuse/submount_pools.h"

namespace arborfs {

std::shared_ptr<WorkerPool> SubmountPools::pool_of(const LogFolder& submount) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(submount);
  if (found != pools_.end()) {
    return found->second;
  }
  auto& pool = pools_.size() < kMost ? pools_[submount] : shared_;
  if (!pool) {
    pool = std::make_shared<WorkerPool>();
    if (stopped_) {
      pool->stop();
    }
  }
  return pool;
}

void SubmountPools::stop() {
  std::map<LogFolder, std::shared_ptr<WorkerPool>> pools;
  std::shared_ptr<WorkerPool> shared;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    pools = pools_;
    shared = shared_;
  }
  for (const auto& [submount, pool] : pools) {
    pool->stop();
  }
  if (shared) {
    shared->stop();
  }
}

}  // namespace arborfs
