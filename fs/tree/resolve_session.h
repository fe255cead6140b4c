// The way from a node to its session: looked up in the catalog's view, brought up to date, and checked to be the
// generation that the node was made for. Any thread; no lock is held on return but the guard's own.
#pragma once

#include <cstdint>
#include <string>

#include "core/session/catalog.h"
#include "fs/tree/mount_state.h"
#include "fs/tree/request_context.h"

namespace arborfs {

/// A session as one request sees it.
struct SessionRef {
  SessionPtr session;
  Session::Use use;  // of it
  CatalogViewPtr view;
  std::uint32_t home = 0;        // its slot
  std::uint32_t generation = 0;  // that the node was made for; 0: any
  std::uint64_t seed = 0;        // of its inode numbers
};

/// The session of a node, refreshed to `depth`. Errors: stale (session or generation gone), interrupted (deferred, or
/// cancelled), and what reading the log says.
Result<SessionRef> resolve_session(MountState& state, RequestContext& call, NodeId node, Depth depth);
/// The same without touching the log: for files that are there even when the log cannot be read.
Result<SessionRef> session_of(MountState& state, NodeId node);
/// What resolve_session() does once it has a session_of().
Result<SessionRef> brought_to(RequestContext& call, SessionRef ref, Depth depth);
/// Another look at its log can be spared.
bool is_fresh(const RequestContext& call, const Session& session, Depth depth);
/// Brings a session up to date once more, after an answer `stale` from below.
Result<void> refresh_again(RequestContext& call, const SessionRef& ref, Depth depth);

/// Its state now. Errors: stale when it is another generation than the ref's, or none.
Result<Session::Guard> guard_of(const SessionRef& ref);
/// The state of the session of a node whose item is an entry, that entry being there. Errors: as resolve_session and
/// guard_of; stale when there is no such entry.
Result<Session::Guard> guard_of_entry(MountState& state, RequestContext& call, NodeId node);

/// Slots of generations. Errors: stale when it has none now, no_space when the numbers ran out.
Result<std::uint32_t> generation_slot(MountState& state, const SessionRef& ref);

/// projects/<project>/<session>, or "" when it is shown nowhere.
std::string shown_path(const CatalogView& view, const Session& session);

Error stale_error();
Error no_such_name();

}  // namespace arborfs
