#include "fs/fuse/submount_pools.h"

namespace arborfs {

std::shared_ptr<WorkerPool> SubmountPools::lane_of(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  const auto found = lanes_.find(folder);
  if (found != lanes_.end()) {
    return found->second;
  }
  auto& lane = lanes_[lanes_.size() < kMost ? folder : ""];
  if (!lane) {
    lane = std::make_shared<WorkerPool>(kThreads);
    if (stopped_) {
      lane->stop();
    }
  }
  return lane;
}

void SubmountPools::stop() {
  std::map<std::string, std::shared_ptr<WorkerPool>> lanes;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    lanes = lanes_;
  }
  for (const auto& [folder, lane] : lanes) {
    lane->stop();
  }
}

}  // namespace arborfs
