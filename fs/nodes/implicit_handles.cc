#include "fs/nodes/implicit_handles.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace arborfs {

OpenFilePtr ImplicitHandles::find(NodeId node, Clock::time_point now) {
  if (!has_some_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(node);
  if (found == held_.end()) {
    return nullptr;
  }
  found->second.read = now;
  return found->second.file;
}

void ImplicitHandles::hold(NodeId node, OpenFilePtr file, Clock::time_point now) {
  OpenFilePtr dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  held_.try_emplace(node, Held{std::move(file), now}).first->second.read = now;
  has_some_ = true;
  if (held_.size() > kMost) {
    const auto oldest = std::min_element(held_.begin(), held_.end(), [](const auto& one, const auto& other) {
      return one.second.read < other.second.read;
    });
    dropped = std::move(oldest->second.file);
    held_.erase(oldest);
  }
}

void ImplicitHandles::let_go(Clock::time_point now) {
  if (!has_some_.load(std::memory_order_relaxed)) {
    return;
  }
  std::vector<OpenFilePtr> dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](auto& row) {
    const bool is_over = now - row.second.read >= kLinger;
    if (is_over) {
      dropped.push_back(std::move(row.second.file));
    }
    return is_over;
  });
  has_some_ = !held_.empty();
}

}  // namespace arborfs
