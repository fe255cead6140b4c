#include "fs/tree/node_numbers.h"

#include <mutex>

#include "core/base/result_macros.h"
#include "fs/tree/view_kinds.h"

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

namespace {

/// True if the path to `leaf` goes through `earlier`; the walk ends even if parents form a cycle.
bool passes(const LogIndex& index, Ordinal leaf, Ordinal earlier) {
  Ordinal at = leaf;
  for (Ordinal steps = 0; at != earlier && at != kNoEntry && steps <= index.size(); ++steps) {
    at = index.parent(at);
  }
  return at == earlier;
}

}  // namespace

Result<std::uint32_t> TranscriptVersions::version_of(const Session& session) {
  for (;;) {
    Line before;
    {
      const std::lock_guard lock(mutex_);
      before = lines_[session.number()];
    }
    Line now;
    bool goes_on = false;
    {
      ASSIGN_OR_RETURN(const auto guard, session.read_index());
      const LogIndex& index = guard.index();
      now = {before.number, guard.generation_of(guard.leaf()), guard.epoch(), guard.leaf()};
      goes_on = before.number != 0 && before.generation == guard.generation_of(before.leaf) &&
                passes(index, now.leaf, before.leaf);
    }
    const std::lock_guard lock(mutex_);
    Line& line = lines_[session.number()];
    if (line == before) {
      now.number = goes_on ? before.number : ++last_;
      line = now;
      return now.number;
    }
  }
}

std::uint32_t TranscriptVersions::last_of(std::uint32_t session) const {
  const std::lock_guard lock(mutex_);
  const auto found = lines_.find(session);
  return found == lines_.end() ? 0 : found->second.number;
}

std::uint32_t TextVersions::version_of(NodeId file, std::uint64_t hash) {
  const std::lock_guard lock(mutex_);
  Version& version = versions_[file];
  if (version.number == 0 || version.hash != hash) {
    version.hash = hash;
    ++version.number;
  }
  return version.number;
}

bool NodeId::is_known() const {
  return (value_ >> 56U) < kFirstView + session_views().size() && (kind() != Kind::root || value_ == 1);
}

}  // namespace arborfs
