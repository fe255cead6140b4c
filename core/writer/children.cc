#include "core/writer/children.h"

namespace arborfs {

Children::Children(const Catalog& catalog) : view_(catalog.view()) {
  for (const auto& [name, session] : view_->by_id) {
    if (is_one(session)) {
      by_parent_[{session->store_number(), session->head().header.started_by}].push_back(session);
    }
  }
}

bool Children::is_one(const SessionPtr& session) {
  return session->format().removes_children && !session->head().header.started_by.empty();
}

std::vector<SessionPtr> Children::of(const SessionPtr& session) const {
  std::vector<SessionPtr> found;
  std::set<std::string> known{session->head().header.id};
  add(session, known, found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SessionPtr child = found[i];
    add(child, known, found);
  }
  return found;
}

void Children::add(const SessionPtr& parent, std::set<std::string>& known, std::vector<SessionPtr>& found) const {
  const auto children = by_parent_.find({parent->store_number(), parent->head().header.id});
  if (!parent->format().removes_children || children == by_parent_.end()) {
    return;
  }
  for (const SessionPtr& child : children->second) {
    if (known.insert(child->head().header.id).second) {
      found.push_back(child);
    }
  }
}

}  // namespace arborfs
