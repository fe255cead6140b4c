// What requests that change something and the invalidator have to tell each other, so that an answered write is never
// followed by a look at what was before it (CONTRACT.md 3):
//  - a request waits until the kernel has been told of all that was published so far, for kPatience at most;
//  - a request may name more to be told than the change feed says (branches/<label>, for one);
//  - a request for which the kernel holds folders locked until it is answered (symlink, unlink, rename, rmdir)
//  announces
//    them: to tell the kernel of a name in one of them would wait for the answer, so that is put off until after it.
//
// Thread-safe. mutex_ is a leaf but for the feed's; no lock is held while the kernel is told or a request waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/session/change_feed.h"
#include "fs/cache/invalidation_map.h"

namespace arborfs {

class InvalidationQueue {
 public:
  static constexpr std::chrono::milliseconds kPatience{200};

  /// `feed` outlives it, and must not be published to yet.
  explicit InvalidationQueue(ChangeFeed& feed);
  InvalidationQueue(const InvalidationQueue&) = delete;
  InvalidationQueue& operator=(const InvalidationQueue&) = delete;

  // For requests.

  /// The kernel holds these folders until the request is answered; what is returned must live as long.
  [[nodiscard]] std::shared_ptr<void> hold(const std::vector<NodeId>& folders);
  /// Returns when the kernel has been told of `more` and of everything published before, but for what is put off; at
  /// once where nobody tells it (no notifications, or the mount is ending).
  void tell_and_wait(std::vector<Invalidation> more);
  /// Tells the kernel of nodes on this thread. To tell of a name might wait for another request, so with names among
  /// them it does nothing and gives false.
  bool tell_at_once(const std::vector<Invalidation>& nodes);
  /// The changes behind `since`, up to `last`, have been told of by tell_at_once(). Those who wrote together need not
  /// tell each for itself.
  void note_told(std::uint64_t since, std::uint64_t last);
  [[nodiscard]] bool has_told(std::uint64_t since, std::uint64_t last) const;

  /// While it lives, who made it tells of what its thread publishes, and nobody else need be woken for it.
  class ToldHere {
   public:
    ToldHere();
    ~ToldHere();
    ToldHere(const ToldHere&) = delete;
    ToldHere& operator=(const ToldHere&) = delete;
  };

  // For the invalidator, which is one thread.

  /// `tell_node` asks the kernel to ask for a node's attributes again; any thread, never waits. It may be called for as
  /// long as requests are served, even after close().
  using TellNode = std::function<void(NodeId)>;
  void open(TellNode tell_node);
  void close();
  struct Work {
    std::vector<Change> changes;
    std::vector<Invalidation> more;
    std::uint64_t sequence = 0;  // of the last change that is in it, or was in earlier work
    std::uint64_t ticket = 0;    // likewise for what requests asked for
  };
  /// Waits for something to tell; false once closed.
  bool wait(Work& work);
  /// Puts a name off when its folder is held now.
  bool put_off(const Invalidation& forget);
  void note_told(const Work& work);
  /// Lets changes gather; ends early when a request begins to wait.
  void pause(std::chrono::milliseconds longest);

 private:
  class Hold;
  void release(const std::vector<NodeId>& folders);
  ChangeFeed& feed_;
  mutable std::mutex mutex_;
  TellNode tell_node_;                                   // set by the first open(), before any request
  std::condition_variable work_;                         // something to tell
  std::condition_variable hurry_;                        // a request waits
  std::condition_variable told_;                         // something was told
  bool is_open_ = false;                                 // guarded by mutex_, as all below
  std::vector<Invalidation> more_;                       // asked for by requests, or put off and free now
  std::map<NodeId, int> held_;                           // how many requests hold a folder
  std::map<NodeId, std::vector<Invalidation>> put_off_;  // by folder
  std::uint64_t ticket_ = 0;                             // of the last request for more
  std::uint64_t told_sequence_ = 0;
  std::uint64_t told_ticket_ = 0;
  std::uint64_t told_here_since_ = 0;  // by requests: what came behind this
  std::uint64_t told_here_last_ = 0;   // and up to this
  int waiting_ = 0;
};

}  // namespace arborfs
