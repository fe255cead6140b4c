// The mount as operations on node ids, without the kernel's side: fs/fuse translates requests to it, tests call it
// without a mount. Any thread; no lock is held on return. Every error has a message for people.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/session/catalog.h"
#include "core/views/turn_state.h"
#include "fs/nodes/mount_state.h"
#include "fs/nodes/node_id.h"
#include "fs/nodes/node_table.h"
#include "fs/nodes/request_context.h"

namespace arborfs {

/// Files that are read without having been opened. A read-only mount refuses OPEN with ENOSYS: the kernel then sends
/// neither OPEN nor RELEASE, so the first read of a file takes one request instead of three, and later readers need
/// none. As the mount cannot know whether a file is still being read, one that takes more than one read is held here as
/// if it were open, and shows one state of its log (CONTRACT.md 2.5), until it has not been read for kLinger.
/// Thread-safe; mutex_ is a leaf.
class ImplicitHandles {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 64;
  static constexpr std::chrono::seconds kLinger{10};

  /// Null if the file is not held. Restarts its kLinger.
  OpenFilePtr find(NodeId node, Clock::time_point now = Clock::now());
  /// Holds a file; if the node has one already, that one is kept. Beyond kMost the least recently read one is dropped.
  void hold(NodeId node, OpenFilePtr file, Clock::time_point now = Clock::now());
  /// Drops files that were not read for kLinger: one may keep a deleted log open, and so its space on the disk
  /// allocated. Costs nothing while none is held.
  void evict_idle(Clock::time_point now = Clock::now());

 private:
  struct Held {
    OpenFilePtr file;
    Clock::time_point read;
  };
  std::mutex mutex_;
  std::unordered_map<NodeId, Held> held_;  // guarded by mutex_
  std::atomic<bool> has_some_{false};
};

/// An open folder, which a directory handle refers to.
class OpenDir {
 public:
  explicit OpenDir(NodeId node) : node_(node) {}
  [[nodiscard]] NodeId node() const { return node_; }
  /// True if the kernel may keep using its cached listing.
  [[nodiscard]] bool keeps_cache() const { return keeps_cache_; }

 private:
  friend class Vfs;
  const NodeId node_;
  bool keeps_cache_ = false;
  std::mutex mutex_;      // leaf
  ListingPtr listing_;    // guarded by mutex_; of the last rewind
  bool is_fresh_ = true;  // nothing of it has been read yet; guarded by mutex_
};
using OpenDirPtr = std::shared_ptr<OpenDir>;

class Vfs {
 public:
  /// `catalog` outlives it.
  Vfs(Catalog& catalog, bool read_only) : state_(catalog, read_only) {}

  /// True for names that no folder of the mount will ever have: search tools look up .gitignore and similar names in
  /// each one.
  static bool is_never_a_name(NodeId parent, std::string_view name) {
    const bool is_wait = parent.kind() == Kind::session && name == ".wait";
    return name.starts_with(".") && !is_wait && parent.kind() != Kind::root && parent.kind() != Kind::by_id &&
           parent.kind() != Kind::agent && parent.kind() != Kind::by_file && parent.kind() != Kind::file_path &&
           parent.kind() != Kind::artifact_dir && parent.kind() != Kind::checkpoint_dir &&
           parent.kind() != Kind::native_dir;
  }
  Result<Found> lookup(RequestContext& call, NodeId parent, std::string_view name);
  Result<Attr> getattr(RequestContext& call, NodeId node);
  Result<std::string> readlink(RequestContext& call, NodeId node);
  Result<OpenFilePtr> open(RequestContext& call, NodeId node);
  Result<std::size_t> read(RequestContext& call, OpenFile& file, std::uint64_t offset, std::span<char> into);
  /// The same without a preceding open, as on a read-only mount (ImplicitHandles): the name must have been looked up
  /// just before. Errors: those of open and read; stale if the state that was looked up is gone.
  Result<std::size_t> read_without_open(RequestContext& call, NodeId node, std::uint64_t offset, std::span<char> into);
  Result<OpenDirPtr> opendir(RequestContext& call, NodeId node);
  /// Of the session whose `wait` the node is. Errors: stale (it is gone), those of reading the log.
  Result<TurnState> turn(NodeId node);
  /// Emits ".", ".." and the folder's names, from `offset` on. Offset 0 takes a new listing.
  Result<void> readdir(RequestContext& call, OpenDir& dir, std::uint64_t offset, const DirectorySnapshot::Emit& emit);
  /// True for nodes whose requests may read all sessions or a whole history: they take long, and must not make others
  /// wait.
  static bool reads_all_sessions(NodeId node) {
    const Kind kind = node.kind();
    return kind == Kind::search_query || kind == Kind::file_path || kind == Kind::search_excerpts ||
           kind == Kind::search_hits || kind == Kind::stats || kind == Kind::stats_file || kind == Kind::history ||
           kind == Kind::history_file;
  }
  /// One extended attribute, or the names of all, each with its NUL. Errors: not_found (no such attribute).
  Result<std::string> xattr(RequestContext& call, NodeId node, std::string_view name);
  Result<std::string> xattr_names(RequestContext& call, NodeId node);

  /// The submount (Catalog::submounts) that a request for this node may have to wait for; such a request
  /// must not make others wait.
  std::optional<LogFolder> submount_of(NodeId node);

  MountState& state() { return state_; }

 private:
  static constexpr std::size_t kMaxListed = 4096;

  [[nodiscard]] CacheTtl name_life(const Attr& attr, CacheTtl life) const;
  Result<Found> look_up(RequestContext& call, NodeId parent, std::string_view name);
  Result<OpenFilePtr> file_to_read(RequestContext& call, NodeId node);
  Result<ListingPtr> listing_of(RequestContext& call, NodeId node);
  Result<ListingPtr> snapshot(RequestContext& call, OpenDir& dir, bool afresh);
  bool note_listed(NodeId node, std::uint64_t version);
  void forget_listed(NodeId node, std::uint64_t version);

  MountState state_;
  ImplicitHandles implicit_handles_;
  std::mutex listed_mutex_;                           // leaf
  std::unordered_map<NodeId, std::uint64_t> listed_;  // version of the last listing; guarded by listed_mutex_
};

}  // namespace arborfs
