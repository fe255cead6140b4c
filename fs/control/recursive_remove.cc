#include "fs/control/recursive_remove.h"

#include "fs/control/client_process.h"

namespace arborfs {

void RecursiveRemoves::note(pid_t client, std::uint32_t session) {
  const std::uint64_t process = identity_of(thread_group_of(client));
  if (process == 0) {
    return;
  }
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (last_.size() >= kMost) {
    std::erase_if(last_, [&](const auto& row) { return now - row.second > kMemory; });
  }
  if (last_.size() >= kMost) {
    last_.clear();
  }
  last_[{session, process}] = now;
}

bool RecursiveRemoves::is_at_work(pid_t client, std::uint32_t session) {
  const std::uint64_t process = identity_of(thread_group_of(client));
  const std::lock_guard lock(mutex_);
  const auto found = last_.find({session, process});
  if (found == last_.end() || Clock::now() - found->second > kMemory) {
    return false;
  }
  found->second = Clock::now();
  return true;
}

void RecursiveRemoves::forget(std::uint32_t session) {
  const std::lock_guard lock(mutex_);
  last_.erase(last_.lower_bound({session, 0}), last_.lower_bound({session + 1, 0}));
}

}  // namespace arborfs
