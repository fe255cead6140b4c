#include "fs/tree/session_ids.h"

#include <mutex>

#include "fs/tree/node_id.h"

namespace arborfs {

namespace {

std::uint64_t key_of(std::uint32_t session, std::uint32_t generation) {
  return static_cast<std::uint64_t>(session) << 32U | generation;
}

}  // namespace

std::uint32_t SessionIds::find(std::uint32_t session, std::uint32_t generation) const {
  const std::shared_lock lock(mutex_);
  const auto found = numbers_.find(key_of(session, generation));
  return found == numbers_.end() ? 0 : found->second;
}

std::uint32_t SessionIds::slot_of(std::uint32_t session, std::uint32_t generation) {
  if (const std::uint32_t known = find(session, generation); known != 0) {
    return known;
  }
  const std::unique_lock lock(mutex_);
  if (slots_.size() > NodeId::kMaxSlot) {
    return 0;
  }
  const auto fresh = static_cast<std::uint32_t>(slots_.size());
  const auto [place, is_new] = numbers_.emplace(key_of(session, generation), fresh);
  if (is_new) {
    slots_.push_back({session, generation});
  }
  return place->second;
}

std::optional<SessionIds::Slot> SessionIds::at(std::uint32_t slot) const {
  const std::shared_lock lock(mutex_);
  if (slot == 0 || slot >= slots_.size()) {
    return std::nullopt;
  }
  return slots_[slot];
}

}  // namespace arborfs
