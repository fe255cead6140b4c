#include "fs/nodes/documents.h"

#include <algorithm>

namespace arborfs {

SnapshotPtr OpenSnapshots::find(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(node);
  return found == known_.end() ? nullptr : found->second.lock();
}

SnapshotPtr OpenSnapshots::put_locked(SnapshotPtr document, bool grows) {
  auto& place = known_[document->attr.node];
  if (SnapshotPtr now = place.lock()) {
    const bool keeps = !grows || now->attr.size > document->attr.size ||
                       (now->attr.size == document->attr.size && now->epoch > document->epoch);
    if (keeps) {
      return now;
    }
  }
  place = document;
  if (known_.size() >= sweep_at_) {
    sweep();
  }
  return document;
}

void OpenSnapshots::sweep() {
  std::erase_if(known_, [](const auto& row) { return row.second.expired(); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * known_.size());
}

SnapshotPtr OpenSnapshots::put(SnapshotPtr document, bool grows) {
  const std::lock_guard lock(mutex_);
  return put_locked(std::move(document), grows);
}

/// Needs mutex_. Keeps documents that were made just now, because an open may follow their lookup.
void OpenSnapshots::drop_replaced(const Snapshot& by, std::vector<SnapshotPtr>& dropped) {
  const auto newest = std::chrono::steady_clock::now() - kJustLookedUp;
  std::erase_if(recent_, [&](SnapshotPtr& kept) {
    const bool is_replaced = kept->session == by.session && kept->log != by.log && kept->made < newest;
    if (is_replaced) {
      recent_bytes_ -= kept->content->memory_bytes();
      dropped.push_back(std::move(kept));
    }
    return is_replaced;
  });
}

SnapshotPtr OpenSnapshots::put_recent(SnapshotPtr document, bool grows) {
  std::vector<SnapshotPtr> dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  document = put_locked(std::move(document), grows);
  if (!recent_.empty() && recent_.front() == document) {
    return document;
  }
  if (document->log) {
    drop_replaced(*document, dropped);
  }
  recent_bytes_ += document->content->memory_bytes();
  recent_.push_front(document);
  while (recent_.size() > kMaxRecent || (recent_bytes_ > kMaxRecentBytes && recent_.size() > 1)) {
    recent_bytes_ -= recent_.back()->content->memory_bytes();
    dropped.push_back(std::move(recent_.back()));
    recent_.pop_back();
  }
  return document;
}

}  // namespace arborfs
