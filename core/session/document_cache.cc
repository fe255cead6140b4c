#include "core/session/document_cache.h"

namespace arborfs {

std::shared_ptr<const Content> DocumentCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    return nullptr;
  }
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->content;
}

std::optional<std::uint64_t> DocumentCache::size_of(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(key);
  return found == sizes_.end() ? std::nullopt : std::optional(found->second);
}

void DocumentCache::keep(const Key& key, std::shared_ptr<const Content> content) {
  const std::lock_guard lock(mutex_);
  if (sizes_.size() >= kMaxSizes) {
    sizes_.clear();
  }
  sizes_[key] = content->size();
  const std::size_t cost = content->memory_bytes();
  if (cost > kMaxBytes || by_key_.contains(key)) {
    return;
  }
  recent_.push_front({key, std::move(content), cost});
  by_key_[key] = recent_.begin();
  bytes_ += cost;
  while (bytes_ > kMaxBytes) {
    bytes_ -= recent_.back().cost;
    by_key_.erase(recent_.back().key);
    recent_.pop_back();
  }
}

void DocumentCache::forget(std::uint32_t generation) {
  std::list<Kept> dropped;  // files are closed without the lock
  const std::lock_guard lock(mutex_);
  for (auto kept = recent_.begin(); kept != recent_.end();) {
    const auto next = std::next(kept);
    if (std::get<1>(kept->key) == generation) {
      bytes_ -= kept->cost;
      by_key_.erase(kept->key);
      dropped.splice(dropped.end(), recent_, kept);
    }
    kept = next;
  }
}

}  // namespace arborfs
