// What the kernel must forget after a change, and how requests and the invalidator (fs/fuse/fuse_server.h) agree on it.
// Without invalidations everything is correct within a moment (CacheTtl); with them, changes are visible at once.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/change_feed.h"
#include "fs/nodes/mount_state.h"

namespace arborfs {

/// Maps changes to the items that the kernel should invalidate: attributes of folders and growing files, and names, but
/// only those that it may have cached (CacheTracker). Any thread.
class InvalidationMap {
 public:
  explicit InvalidationMap(MountState& state) : state_(state) {}
  /// The invalidations for several changes, each once.
  [[nodiscard]] std::vector<Invalidation> invalidations_of(const std::vector<Change>& changes) const;
  /// The items of `all` that the kernel may have cached.
  [[nodiscard]] std::vector<Invalidation> known(std::vector<Invalidation> all) const;
  /// Adds those for the folder where a session is or was shown: `path` is CatalogView::path_of, `starter`
  /// ShownAt::starter.
  void add_place(const std::string& path, std::uint32_t starter, std::vector<Invalidation>& out) const;

 private:
  void add_folder(std::uint32_t session, std::vector<Invalidation>& out) const;
  void add_children(std::uint32_t starter, std::vector<Invalidation>& out) const;
  void add_pages_above(std::uint32_t starter, std::vector<Invalidation>& out) const;
  void add_session(const Change& change, std::vector<Invalidation>& out) const;
  void add_catalog(const Change& change, std::vector<Invalidation>& out) const;
  void add_folder_names(std::vector<Invalidation>& out) const;
  void add_lost_names(NodeId folder, const CatalogView& view, const Project& project,
                      std::vector<Invalidation>& out) const;
  void add_ids(NodeId folder, const std::string& id, std::vector<Invalidation>& out) const;
  void add_all_in(NodeId folder, std::vector<Invalidation>& out) const;
  MountState& state_;
};

/// True if the name is a link that leads to another node after every change.
bool leads_elsewhere(const Invalidation& name);

/// The names in a session's folder that may lead to another node after a change, including folders whose content
/// belongs to a generation, if that has changed.
std::vector<std::string_view> changing_names(Change::Kind change);

/// Connects the requests that change something with the invalidator, so that no read after an acknowledged write sees
/// the state before it (CONTRACT.md 3):
///  - a request waits until the kernel was notified of everything published so far, for at most kPatience;
///  - a request may add invalidations that the change feed does not imply (status.json, for one);
///  - a request for which the kernel keeps folders locked until it is answered (symlink, unlink, rename, rmdir)
///    announces them: to invalidate a name in one of them would wait for the answer, so that is deferred until after
///    it.
///
/// Thread-safe. Under mutex_ only the feed's lock is taken; no lock is held while the kernel is notified or a request
/// waits.
class InvalidationQueue {
 public:
  static constexpr std::chrono::milliseconds kPatience{200};

  /// `feed` outlives it; nothing may have been published to it yet.
  explicit InvalidationQueue(ChangeFeed& feed);
  InvalidationQueue(const InvalidationQueue&) = delete;
  InvalidationQueue& operator=(const InvalidationQueue&) = delete;

  // For requests.

  /// The kernel keeps these folders locked until the request is answered; keep the returned object until then.
  [[nodiscard]] std::shared_ptr<void> hold(const std::vector<NodeId>& folders);
  /// Returns when the kernel was notified of `more` and of everything published before, except for deferred names, or
  /// after kPatience. Returns at once if there is no invalidator (no notifications, or the mount is ending).
  void notify_and_wait(std::vector<Invalidation> more);
  /// Invalidates nodes on this thread. To invalidate a name might wait for another request, so if there are names among
  /// `nodes`, it does nothing and returns false.
  bool notify_at_once(const std::vector<Invalidation>& nodes);

  /// While it lives, its creator notifies the kernel of the changes that this thread publishes, so the invalidator is
  /// not woken.
  class NotifiesHere {
   public:
    NotifiesHere();
    ~NotifiesHere();
    NotifiesHere(const NotifiesHere&) = delete;
    NotifiesHere& operator=(const NotifiesHere&) = delete;
  };

  // For the invalidator, which is one thread.

  /// `notify_node` invalidates a node's attributes; any thread, never waits. It may be called as long as requests are
  /// served, even after close().
  using NotifyNode = std::function<void(NodeId)>;
  void open(NotifyNode notify_node);
  void close();
  struct Work {
    std::vector<Change> changes;
    std::vector<Invalidation> more;
    std::uint64_t sequence = 0;  // of the last change in this or earlier work
    std::uint64_t ticket = 0;    // likewise, for what requests asked for
  };
  /// Waits for work; false once closed.
  bool wait(Work& work);
  /// Defers an invalidation if its folder is locked now; false if it is not.
  bool defer(const Invalidation& one);
  void note_notified(const Work& work);
  /// Waits so that changes accumulate; ends early when a request starts to wait.
  void pause(std::chrono::milliseconds longest);

 private:
  class Hold;
  void release(const std::vector<NodeId>& folders);
  ChangeFeed& feed_;
  mutable std::mutex mutex_;
  NotifyNode notify_node_;                                // set by the first open(), before any request
  std::condition_variable work_;                          // there is work for the invalidator
  std::condition_variable hurry_;                         // a request waits
  std::condition_variable notified_;                      // the kernel was notified
  bool is_open_ = false;                                  // guarded by mutex_, as are all below
  std::vector<Invalidation> more_;                        // asked for by requests, or deferred and no longer locked
  std::map<NodeId, int> held_;                            // how many requests keep a folder locked
  std::map<NodeId, std::vector<Invalidation>> deferred_;  // deferred, by folder
  std::uint64_t ticket_ = 0;                              // of the last notify_and_wait()
  std::uint64_t notified_sequence_ = 0;
  std::uint64_t notified_ticket_ = 0;
  int waiting_ = 0;
};

}  // namespace arborfs
