// The documents of nodes: those that are open, so that a handle and an fstat of it keep showing the opened state even
// if the log changes (CONTRACT.md 2.5), and the last few that were looked up, because an open usually follows.
// Thread-safe; mutex_ is a leaf.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/model/content.h"
#include "core/session/session.h"
#include "fs/nodes/node_id.h"

namespace arborfs {

struct Snapshot {
  Attr attr;
  std::shared_ptr<const Content> content;
  std::uint32_t epoch = 0;  // of the session when this was made, or an earlier one
  std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();

  // The source of the content, so that a reader can check that it is still there; null without a log.
  SessionPtr session;
  std::shared_ptr<const LogSource> log;
  FileStat log_stat;          // the log's stat at that time
  std::uint32_t bytes = 0;    // Session::Raw::bytes at that time
  std::uint32_t entries = 0;  // Session::Raw::entries at that time; 0 if the bytes of the document are not entries
  bool is_apart = false;      // made without the log's bytes: changes of the log cannot affect it
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// An open this soon after the lookup of a node gets the document that was looked up, even if the session has changed
/// since; otherwise a log that is written all the time could never be opened. Not if this mount made the change
/// (MountState::written_since): then the open must show the change.
inline constexpr std::chrono::milliseconds kJustLookedUp{100};

class OpenSnapshots {
 public:
  /// Null if the node is neither open nor among the last that were looked up.
  [[nodiscard]] SnapshotPtr find(NodeId node) const;
  /// Tracks a document for as long as something else owns it. If the node has one already, a growing node takes the
  /// longer one and any other keeps the first, which the kernel may have cached. Returns the node's document.
  SnapshotPtr put(SnapshotPtr document, bool grows);
  /// The same, and also owns it for a while. Drops documents made from a log that this one's log has replaced: they
  /// would keep the old file open, and so its space on the disk allocated.
  SnapshotPtr put_recent(SnapshotPtr document, bool grows);

 private:
  static constexpr std::size_t kMaxRecent = 64;
  static constexpr std::size_t kMaxRecentBytes = std::size_t{2} << 20U;

  SnapshotPtr put_locked(SnapshotPtr document, bool grows);
  void sweep();
  void drop_replaced(const Snapshot& by, std::vector<SnapshotPtr>& dropped);

  mutable std::mutex mutex_;
  std::unordered_map<NodeId, std::weak_ptr<const Snapshot>> known_;  // guarded by mutex_
  std::size_t sweep_at_ = 1024;                                      // guarded by mutex_
  std::list<SnapshotPtr> recent_;                                    // newest first; guarded by mutex_
  std::size_t recent_bytes_ = 0;                                     // guarded by mutex_
};

}  // namespace arborfs
