// The documents of nodes, which lookup, getattr, open and read share. A node means one state of a session, so its
// document is right for as long as anything holds it (CONTRACT.md 2.5): an open file, which keeps showing its state;
// the last few that were made, because an open usually follows a lookup; and what the last lookup of each thread that
// uses the mount has found. Thread-safe; mutex_ is a leaf.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/entry/content.h"
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

class Documents {
 public:
  /// Null if nothing holds a document of the node.
  [[nodiscard]] SnapshotPtr find(NodeId node) const;
  /// Makes a document that of its node for as long as something else owns it. If the node has one already, a growing
  /// node takes the longer one and any other keeps the first, which the kernel may have cached. Returns the node's
  /// document.
  SnapshotPtr put(SnapshotPtr document, bool grows);
  /// The same, and also owns it for a while. Drops documents made from a log that this one's log has replaced: they
  /// would keep the old file open, and so its space on the disk allocated.
  SnapshotPtr put_recent(SnapshotPtr document, bool grows);

  /// A lookup by the thread `client` (0: unknown) leads to `node`. The kernel looks a name up and opens its node in two
  /// requests, so the node's document, if it has one, is held for the thread until its open or its next lookup, at most
  /// for kPinned. All that is held so has kMaxPinnedBytes at most, or is one document: the oldest go.
  void pin(pid_t client, NodeId node);
  /// The thread has opened what it looked up.
  void unpin(pid_t client);
  /// An open of `node` by the thread found it stale, because the session has changed since the lookup. The kernel then
  /// repeats both once, and returns ESTALE to the client only if that fails too. So if this is the second open, returns
  /// what its lookup found: that lookup was part of the same system call, so its document is right, even if the session
  /// has changed again. Null if this is the first.
  SnapshotPtr second_chance(pid_t client, NodeId node);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxRecent = 64;
  static constexpr std::size_t kMaxRecentBytes = std::size_t{2} << 20U;
  static constexpr std::chrono::seconds kPinned{10};  // the longest time between two requests, on a busy machine
  static constexpr std::size_t kMaxPins = 256;
  static constexpr std::size_t kMaxPinnedBytes = std::size_t{16} << 20U;
  /// What a thread may be about to open.
  struct Pin {
    SnapshotPtr document;   // null if its last lookup led to no document
    std::size_t bytes = 0;  // of the document
    NodeId refused;         // by its last open, if that was stale and the second has not come
    Clock::time_point when;
  };

  SnapshotPtr put_locked(SnapshotPtr document, bool grows);
  [[nodiscard]] SnapshotPtr find_locked(NodeId node) const;
  Pin* pin_of(pid_t client, std::vector<SnapshotPtr>& dropped);
  void drop_old_pins(std::vector<SnapshotPtr>& dropped);
  SnapshotPtr hold(Pin& pin, SnapshotPtr document);
  void sweep();
  void drop_replaced(const Snapshot& by, std::vector<SnapshotPtr>& dropped);

  mutable std::mutex mutex_;
  std::unordered_map<NodeId, std::weak_ptr<const Snapshot>> known_;  // guarded by mutex_, as are all below
  std::size_t sweep_at_ = 1024;
  std::list<SnapshotPtr> recent_;  // newest first
  std::size_t recent_bytes_ = 0;
  std::unordered_map<pid_t, Pin> pins_;  // by thread
  std::size_t pinned_bytes_ = 0;
};

/// A document of all sessions, which serves while it is fresh (ChangeFeed::is_fresh). Thread-safe; of other locks only
/// the feed's is taken under mutex_.
class LastDocument {
 public:
  /// The document that was kept; null if it may not be right any more.
  [[nodiscard]] SnapshotPtr fresh(const ChangeFeed& feed) const;
  /// `sequence`: from before it was made.
  void keep(SnapshotPtr document, std::uint64_t sequence);

 private:
  mutable std::mutex mutex_;
  SnapshotPtr document_;  // guarded by mutex_, as are all below
  std::uint64_t sequence_ = 0;
  std::chrono::steady_clock::time_point kept_;
};

}  // namespace arborfs
