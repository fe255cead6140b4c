#include "fs/nodes/documents.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace arborfs {

SnapshotPtr Documents::find(NodeId node) const {
  const std::lock_guard lock(mutex_);
  return find_locked(node);
}

SnapshotPtr Documents::find_locked(NodeId node) const {
  const auto found = known_.find(node);
  return found == known_.end() ? nullptr : found->second.lock();
}

SnapshotPtr Documents::put_locked(SnapshotPtr document, bool grows) {
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

void Documents::sweep() {
  std::erase_if(known_, [](const auto& row) { return row.second.expired(); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * known_.size());
}

SnapshotPtr Documents::put(SnapshotPtr document, bool grows) {
  const std::lock_guard lock(mutex_);
  return put_locked(std::move(document), grows);
}

/// Needs mutex_. Keeps documents that were made just now, because an open may follow their lookup.
void Documents::drop_replaced(const Snapshot& by, std::vector<SnapshotPtr>& dropped) {
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

SnapshotPtr Documents::put_recent(SnapshotPtr document, bool grows) {
  std::vector<SnapshotPtr> dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  drop_old_pins(dropped);
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

/// Needs mutex_. Returns what the pin held before.
SnapshotPtr Documents::hold(Pin& pin, SnapshotPtr document) {
  pinned_bytes_ -= pin.bytes;
  pin.bytes = document ? document->content->memory_bytes() : 0;
  pinned_bytes_ += pin.bytes;
  return std::exchange(pin.document, std::move(document));
}

/// Needs mutex_.
void Documents::drop_old_pins(std::vector<SnapshotPtr>& dropped) {
  const auto oldest = Clock::now() - kPinned;
  for (auto row = pins_.begin(); row != pins_.end();) {
    const bool is_old = row->second.when < oldest;
    if (is_old) {
      dropped.push_back(hold(row->second, nullptr));
    }
    row = is_old ? pins_.erase(row) : std::next(row);
  }
}

/// Needs mutex_. The thread's pin, made if there is none; null if there are too many.
Documents::Pin* Documents::pin_of(pid_t client, std::vector<SnapshotPtr>& dropped) {
  drop_old_pins(dropped);
  if (client == 0 || (pins_.size() >= kMaxPins && !pins_.contains(client))) {
    return nullptr;
  }
  Pin& pin = pins_[client];
  pin.when = Clock::now();
  return &pin;
}

void Documents::pin(pid_t client, NodeId node) {
  std::vector<SnapshotPtr> dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  SnapshotPtr document = find_locked(node);
  if (!document && !pins_.contains(client)) {
    return;
  }
  if (Pin* const pin = pin_of(client, dropped)) {
    dropped.push_back(hold(*pin, std::move(document)));
    while (pinned_bytes_ > std::max(kMaxPinnedBytes, pin->bytes)) {
      Pin* oldest = nullptr;
      for (auto& [thread, each] : pins_) {
        if (&each != pin && each.bytes != 0 && (oldest == nullptr || each.when < oldest->when)) {
          oldest = &each;
        }
      }
      dropped.push_back(hold(*oldest, nullptr));
    }
  }
}

void Documents::unpin(pid_t client) {
  SnapshotPtr dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  if (const auto row = pins_.find(client); row != pins_.end()) {
    dropped = hold(row->second, nullptr);
    pins_.erase(row);
  }
}

SnapshotPtr Documents::second_chance(pid_t client, NodeId node) {
  std::vector<SnapshotPtr> dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  Pin* const pin = pin_of(client, dropped);
  if (pin == nullptr) {
    return nullptr;
  }
  const NodeId refused = std::exchange(pin->refused, NodeId());
  const bool is_second = refused.kind() == node.kind() && refused.slot() == node.slot() && refused != node;
  if (is_second && pin->document && pin->document->attr.node == node) {
    return pin->document;
  }
  pin->refused = node;
  return nullptr;
}

SnapshotPtr LastDocument::fresh(const ChangeFeed& feed) const {
  const std::lock_guard lock(mutex_);
  return feed.is_fresh(sequence_, kept_) ? document_ : nullptr;
}

void LastDocument::keep(SnapshotPtr document, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  document_ = std::move(document);
  sequence_ = sequence;
  kept_ = std::chrono::steady_clock::now();
}

}  // namespace arborfs
