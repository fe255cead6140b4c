// From a node to its session: finds it in the catalog's view, refreshes it, and checks that it is the generation that
// the node was made for. Any thread; no lock is held on return except the guard's own.
#pragma once

#include <cstdint>
#include <string>

#include "core/session/catalog.h"
#include "fs/tree/attr.h"
#include "fs/tree/mount_state.h"
#include "fs/tree/request_context.h"

namespace arborfs {

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
Result<SessionRef> brought_to(RequestContext& call, SessionRef ref, Depth depth);
/// True if the session's log need not be checked again for this request.
bool is_fresh(const RequestContext& call, const Session& session, Depth depth);
/// Refreshes a session to `depth` even if it is fresh, as after a `stale` from below. Errors: as resolve_session.
Result<void> refresh_again(RequestContext& call, const SessionRef& ref, Depth depth);

/// The session's present state. Errors: stale if its generation is not the ref's, or if no index is loaded.
Result<Session::Guard> guard_of(const SessionRef& ref);
/// The present state of the session of a node whose item is an entry. Errors: as resolve_session and guard_of; stale if
/// there is no such entry.
Result<Session::Guard> guard_of_entry(MountState& state, RequestContext& call, NodeId node);

/// The slot of the session's present generation, or of that of an entry. Errors: stale if it has none now, no_space if
/// the numbers ran out.
Result<std::uint32_t> generation_slot(MountState& state, const SessionRef& ref, Ordinal entry = kNoEntry);
/// The same in the state of `guard`, which is one of `ref`. Errors: no_space.
Result<std::uint32_t> slot_of_entry(MountState& state, const SessionRef& ref, const Session::Guard& guard,
                                    Ordinal entry);
/// How long the name of an entry leads to the same node.
CacheTtl entry_name_life(const Session::Guard& guard, Ordinal entry);

/// Its path in the mount, "" if the session is not shown (CatalogView::path_of).
std::string shown_path(const CatalogView& view, const Session& session);

Error stale_error();
Error no_such_name();

}  // namespace arborfs
