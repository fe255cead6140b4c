#include "fs/kernel_memory.h"

namespace arborfs {

namespace {

/// Whose attributes, and names in them, ChangeMap ever tells of.
bool is_told_of(Kind kind) {
  switch (kind) {
    case Kind::root:
    case Kind::projects:
    case Kind::by_id:
    case Kind::recent:
    case Kind::terminals:
    case Kind::project:
    case Kind::session:
    case Kind::raw:
    case Kind::transcript:
    case Kind::labels:
    case Kind::entries:
    case Kind::texts:
    case Kind::images:
    case Kind::branches:
    case Kind::damage:
      return true;
    default:
      return false;
  }
}

}  // namespace

void KernelMemory::note(NodeId node) {
  if (is_told_of(node.kind())) {
    add({node, ""});
  }
}

void KernelMemory::note_name(NodeId folder, std::string_view name) {
  if (is_told_of(folder.kind())) {
    add({folder, std::string(name)});
  }
}

void KernelMemory::add(Forget what) {
  const auto now = Clock::now();
  std::set<Forget> gone;  // freed without the mutex
  const std::lock_guard lock(mutex_);
  if (now - turned_ >= kPeriod) {
    gone.swap(old_);
    old_.swap(young_);
    turned_ = now;
  }
  young_.insert(std::move(what));
}

bool KernelMemory::may_know(const Forget& what) const {
  if (!is_told_of(what.node.kind())) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  return young_.contains(what) || old_.contains(what);
}

std::vector<Forget> KernelMemory::names_in(NodeId folder, std::string_view beginning) const {
  std::vector<Forget> names;
  const std::lock_guard lock(mutex_);
  for (const auto* part : {&young_, &old_}) {
    const auto belongs = [&](const Forget& known) { return known.node == folder && known.name.starts_with(beginning); };
    for (auto at = part->lower_bound({folder, std::string(beginning)}); at != part->end() && belongs(*at); ++at) {
      if (!at->name.empty() && (part == &young_ || !young_.contains(*at))) {
        names.push_back(*at);
      }
    }
  }
  return names;
}

}  // namespace arborfs
