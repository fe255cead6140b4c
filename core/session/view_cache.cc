#include "core/session/view_cache.h"

namespace arborfs {

namespace {

constexpr std::uint32_t kLast = UINT32_MAX;

}  // namespace

std::shared_ptr<const Content> ViewCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    return nullptr;
  }
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->content;
}

std::optional<std::uint64_t> ViewCache::size_of(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(item_of(key));
  const bool is_known = found != sizes_.end() && found->second.epoch == std::get<3>(key);
  return is_known ? std::optional(found->second.bytes) : std::nullopt;
}

void ViewCache::keep_size(const Key& key, std::uint64_t size) {
  const Item item = item_of(key);
  if (sizes_.size() >= kMaxSizes && !sizes_.contains(item)) {
    sizes_.clear();
  }
  sizes_[item] = {size, std::get<3>(key)};
}

void ViewCache::keep(const Key& key, std::shared_ptr<const Content> content) {
  const std::lock_guard lock(mutex_);
  keep_size(key, content->size());
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

void ViewCache::forget(std::uint32_t generation) {
  const Key first{generation, 0, 0, 0};
  const Key last{generation, UINTPTR_MAX, kLast, kLast};
  std::list<Kept> dropped;  // files are closed without the lock
  const std::lock_guard lock(mutex_);
  const auto end = by_key_.upper_bound(last);
  for (auto kept = by_key_.lower_bound(first); kept != end; kept = by_key_.erase(kept)) {
    bytes_ -= kept->second->cost;
    dropped.splice(dropped.end(), recent_, kept->second);
  }
  sizes_.erase(sizes_.lower_bound(item_of(first)), sizes_.upper_bound(item_of(last)));
}

}  // namespace arborfs
