// One request on its way through the Vfs, and how it gets from a node to a session and its state.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/session/catalog.h"
#include "core/session/session.h"
#include "core/store/store.h"
#include "fs/nodes/mount_state.h"
#include "fs/nodes/node_id.h"

namespace arborfs {

/// A request on the thread that took it, where nothing may take long, or in the worker pool. An operation that finds
/// that it would take long returns defer(); the server then runs the same operation again in the worker pool
/// (fs/fuse/request_threads.h). So an operation must change nothing before that point. Used by one thread at a time.
class RequestContext {
 public:
  /// On the thread that took the request of the thread `client`; 0 if that is unknown.
  explicit RequestContext(pid_t client = 0) : RequestContext(client, false) {}
  /// In the worker pool, where a Cancellation ends long work early.
  static RequestContext in_pool(pid_t client = 0) { return {client, true}; }

  [[nodiscard]] pid_t client() const { return client_; }
  [[nodiscard]] bool may_take_long() const { return may_take_long_; }

  /// The result of an operation that must be run again in the worker pool.
  Error defer() {
    deferred_ = true;
    return {Errc::interrupted, "goes on where it may take long"};
  }
  [[nodiscard]] bool is_deferred() const { return deferred_; }

  /// When the request began: a result found after this time was found for it, or while it was in progress.
  [[nodiscard]] std::chrono::steady_clock::time_point begun() const { return begun_; }

  /// One refresh of a session is enough for a request.
  [[nodiscard]] bool has_refreshed(std::uint32_t session, Depth depth) const {
    return refreshed_ == session && depth <= depth_;
  }
  void note_refreshed(std::uint32_t session, Depth depth) {
    refreshed_ = session;
    depth_ = depth;
  }
  void forget_refreshed() { refreshed_ = 0; }

  /// Stats a session's log. Keeps its folder open for the next log in it: a listing stats many.
  Result<FileStat> stat(const Session& session) {
    const LogPlace place = session.place();
    if (!folder_ || folder_->first != place.in()) {
      ASSIGN_OR_RETURN(auto opened, session.store().folder(place));
      folder_.emplace(place.in(), std::move(opened));
    }
    return session.store().stat(place, &folder_->second);
  }

 private:
  RequestContext(pid_t client, bool may_take_long) : may_take_long_(may_take_long), client_(client) {}
  const bool may_take_long_;
  bool deferred_ = false;
  const pid_t client_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint32_t refreshed_ = 0;
  Depth depth_ = Depth::head;
  std::optional<std::pair<LogFolder, Dir>> folder_;  // of the log that was checked last
};

// From a node to its session: the following find it in the catalog's view, refresh it, and check that it is the
// generation that the node was made for. Any thread; no lock is held on return except the guard's own.

/// A session as one request uses it.
struct SessionRef {
  SessionPtr session;
  Session::Use use;  // of `session`
  CatalogViewPtr view;
  std::uint32_t home = 0;        // its slot as a session
  std::uint32_t generation = 0;  // the one that the node was made for; 0: any
  Ordinal entry = kNoEntry;      // of which entry that is (Session::Guard::generation_of)
  std::uint64_t seed = 0;        // of its inode numbers
};

/// The session of a node, refreshed to `depth`. Errors: stale (session or generation gone), interrupted (deferred or
/// cancelled), and the errors of reading the log.
Result<SessionRef> resolve_session(MountState& state, RequestContext& call, NodeId node, Depth depth);
/// The same without reading the log: for files that exist even if the log cannot be read. Errors: stale.
Result<SessionRef> session_of(MountState& state, NodeId node);
/// The second half of resolve_session(): refreshes the result of session_of().
Result<SessionRef> refreshed_to(RequestContext& call, SessionRef ref, Depth depth);
/// True if the session's log need not be checked again for this request.
bool is_fresh(const RequestContext& call, const Session& session, Depth depth);
/// Refreshes a session to `depth` even if it is fresh, as after a `stale` from below. Errors: as resolve_session.
Result<void> refresh_again(RequestContext& call, const SessionRef& ref, Depth depth);

/// The session's present state. Errors: stale if its generation is not the ref's, or if no index is loaded.
Result<Session::Guard> guard_of(const SessionRef& ref);
/// A session in its present state.
struct SessionState {
  SessionRef ref;
  Session::Guard guard;
};
/// resolve_session() and guard_of(). Also stale if the node's item is an entry that the session does not have.
Result<SessionState> state_of(MountState& state, RequestContext& call, NodeId node);

/// The slot of the generation of an entry in the state of `guard`, which is one of `ref`. Errors: no_space if the
/// numbers ran out.
Result<std::uint32_t> slot_of_entry(MountState& state, const SessionRef& ref, const Session::Guard& guard,
                                    Ordinal entry);
/// How long the name of an entry leads to the same node.
CacheTtl entry_name_life(const Session::Guard& guard, Ordinal entry);

Error stale_error();
Error no_such_name();

}  // namespace arborfs
