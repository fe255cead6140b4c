// The documents behind nodes: those that somebody has open, so that a handle and an fstat of it go on showing what was
// opened whatever becomes of the log (CONTRACT.md 2.5), and the last few that were looked up, because an open follows.
// Thread-safe; mutex_ is a leaf.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/log/content.h"
#include "core/session/session.h"
#include "fs/tree/attr.h"

namespace arborfs {

struct Snapshot {
  Attr attr;
  std::shared_ptr<const Content> content;
  std::uint32_t epoch = 0;  // of the session when it was made, or an earlier one
  std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();

  // What it was made from, so that a reader can tell whether those bytes are still there; null without a log.
  SessionPtr session;
  std::shared_ptr<const LogFile> log;
  FileStat log_stat;          // what the log looked like then
  std::uint32_t bytes = 0;    // Session::Raw::bytes then
  std::uint32_t entries = 0;  // Session::Raw::entries then; 0 where bytes were taken that are no entries
  bool is_apart = false;      // made without the log's bytes: whatever becomes of them, it is one state
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// An open that comes this soon after the lookup of a node finds what was looked up, even if the session has moved on
/// meanwhile; else a log that is written all the time could never be opened.
/// Not when it was this mount that moved it on (MountState::written_since): then what was written is to be seen.
inline constexpr std::chrono::milliseconds kJustLookedUp{100};

class OpenSnapshots {
 public:
  /// Null when nobody has it open and it was not looked up lately.
  [[nodiscard]] SnapshotPtr find(NodeId node) const;
  /// Remembers a document while somebody holds it. A node that only grows takes the longer one, any other keeps the
  /// first, which the kernel may have cached. Returns what the node has now.
  SnapshotPtr put(SnapshotPtr document, bool grows);
  /// The same, and holds it for a while by itself. What was made of a log that this one's has replaced is let go: it
  /// would keep the old file open, and with it its room on the disk.
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
