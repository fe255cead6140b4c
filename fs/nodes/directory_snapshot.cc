#include "fs/nodes/directory_snapshot.h"

#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

namespace {

std::uint64_t hash_of(const std::vector<NamesSnapshot::Item>& items, std::uint64_t seed) {
  for (const auto& item : items) {
    seed = xxh64(item.name, seed ^ item.child.node.value());
  }
  return seed;
}

}  // namespace

NamesSnapshot::NamesSnapshot(std::vector<Item> items, std::uint64_t state_version)
    : items_(std::move(items)), version_(hash_of(items_, state_version)) {}

Result<void> NamesSnapshot::walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const {
  for (std::uint64_t at = from; at < items_.size(); ++at) {
    const Item& item = items_[at];
    if (item.brief) {
      if (!emit({item.name, *item.brief, item.child.name_life, false, at + 1})) {
        return {};
      }
      continue;
    }
    state.kernel.note(item.child.node);
    const auto attr = attr_of(state, call, item.child.node);
    if (call.is_deferred()) {
      return attr.error();
    }
    if (attr && !emit({item.name, *attr, item.child.name_life, true, at + 1})) {
      return {};
    }
  }
  return {};
}

namespace {

/// Changes when an entry does.
std::uint64_t version_of(const Session::Guard& guard) {
  return std::uint64_t{guard.generation_of(Session::Guard::kLastEntry)} << 32U;
}

}  // namespace

EntriesSnapshot::EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row, Ordinal count)
    : ref_(std::move(ref)), row_(row), count_(count), version_(version_of(guard) + count) {}

EntriesSnapshot::EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row,
                                 std::vector<Ordinal> ordinals)
    : ref_(std::move(ref)),
      row_(row),
      ordinals_(std::move(ordinals)),
      count_(ordinals_.size()),
      version_(xxh64({reinterpret_cast<const char*>(ordinals_.data()), ordinals_.size() * sizeof(Ordinal)},
                     version_of(guard))) {}

Result<void> EntriesSnapshot::walk(MountState& state, RequestContext& /*call*/, std::uint64_t from,
                                   const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref_));
  std::uint32_t generation = 0;  // the one of `slot`
  std::uint32_t slot = 0;
  for (std::uint64_t at = from; at < count_; ++at) {
    const Ordinal ordinal = ordinals_.empty() ? static_cast<Ordinal>(at + 1) : ordinals_[at];
    if (ordinal > guard.index().size()) {
      return {};
    }
    if (generation != guard.generation_of(ordinal)) {
      generation = guard.generation_of(ordinal);
      ASSIGN_OR_RETURN(slot, slot_of_entry(state, ref_, guard, ordinal));
    }
    const Attr attr = row_.attr(guard, ref_.seed, NodeId(row_.kind, slot, ordinal));
    if (!emit({row_.name(guard.index(), ordinal), attr, entry_name_life(guard, ordinal), true, at + 1})) {
      return {};
    }
  }
  return {};
}

Result<void> JoinedSnapshot::walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const {
  bool goes_on = true;
  if (from < head_size_) {
    const Emit watch = [&](const DirectoryItem& item) { return goes_on = emit(item); };
    if (auto done = head_->walk(state, call, from, watch); !done || !goes_on) {
      return done;
    }
    from = head_size_;
  }
  const std::uint64_t shift = head_size_;
  return rest_->walk(state, call, from - shift, [&](const DirectoryItem& item) {
    return emit({item.name, item.attr, item.name_life, item.is_complete, item.next + shift});
  });
}

}  // namespace arborfs
