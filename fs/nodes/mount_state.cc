#include "fs/nodes/mount_state.h"

#include "fs/nodes/node_id.h"

namespace arborfs {

namespace {

/// True for kinds whose attributes and names InvalidationMap may invalidate.
bool may_be_invalidated(Kind kind) {
  switch (kind) {
    case Kind::root:
    case Kind::projects:
    case Kind::by_id:
    case Kind::by_agent:
    case Kind::agent:
    case Kind::recent:
    case Kind::terminals:
    case Kind::project:
    case Kind::session:
    case Kind::labels:
    case Kind::children:
    case Kind::entries:
    case Kind::texts:
    case Kind::images:
    case Kind::branches:
    case Kind::damage:
      return true;
    default:
      return is_view(kind) && grows(view_of(kind));
  }
}

}  // namespace

void CacheTracker::note(NodeId node) {
  if (may_be_invalidated(node.kind())) {
    add({node, ""});
  }
}

void CacheTracker::note_name(NodeId folder, std::string_view name) {
  if (may_be_invalidated(folder.kind())) {
    add({folder, std::string(name)});
  }
}

void CacheTracker::add(Invalidation what) {
  const auto now = Clock::now();
  std::set<Invalidation> gone;  // freed without the mutex
  const std::lock_guard lock(mutex_);
  if (now - turned_ >= kPeriod) {
    gone.swap(old_);
    old_.swap(young_);
    turned_ = now;
  }
  young_.insert(std::move(what));
}

bool CacheTracker::may_know(const Invalidation& what) const {
  if (!may_be_invalidated(what.node.kind())) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  return young_.contains(what) || old_.contains(what);
}

std::vector<Invalidation> CacheTracker::names_in(NodeId folder, std::string_view beginning) const {
  std::vector<Invalidation> names;
  const std::lock_guard lock(mutex_);
  for (const auto* part : {&young_, &old_}) {
    const auto belongs = [&](const Invalidation& known) {
      return known.node == folder && known.name.starts_with(beginning);
    };
    for (auto at = part->lower_bound({folder, std::string(beginning)}); at != part->end() && belongs(*at); ++at) {
      if (!at->name.empty() && (part == &young_ || !young_.contains(*at))) {
        names.push_back(*at);
      }
    }
  }
  return names;
}

}  // namespace arborfs
