#include "fs/tree/stale_retry.h"

namespace arborfs {

void StaleRetry::note_refused(pid_t client, NodeId node) {
  if (client == 0) {
    return;  // it lives in another pid namespace
  }
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (refused_.size() >= kMost) {
    std::erase_if(refused_, [&](const auto& row) { return now - row.second.when > kMemory; });
  }
  if (refused_.size() < kMost) {
    refused_.insert_or_assign(client, Refused{node, now});
  }
}

bool StaleRetry::take(pid_t client, NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto found = refused_.find(client);
  if (found == refused_.end()) {
    return false;
  }
  const Refused refused = found->second;
  refused_.erase(found);
  return refused.node.kind() == node.kind() && refused.node.slot() == node.slot() && refused.node != node &&
         Clock::now() - refused.when <= kMemory;
}

}  // namespace arborfs
