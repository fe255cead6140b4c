#include "fs/fuse/submount_pools.h"

namespace arborfs {

std::shared_ptr<WorkerPool> SubmountPools::pool_of(const LogFolder& folder) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(folder);
  if (found != pools_.end()) {
    return found->second;
  }
  auto& pool = pools_[pools_.size() < kMost ? folder : LogFolder{}];
  if (!pool) {
    pool = std::make_shared<WorkerPool>(kThreads);
    if (stopped_) {
      pool->stop();
    }
  }
  return pool;
}

void SubmountPools::stop() {
  std::map<LogFolder, std::shared_ptr<WorkerPool>> pools;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    pools = pools_;
  }
  for (const auto& [folder, pool] : pools) {
    pool->stop();
  }
}

}  // namespace arborfs
