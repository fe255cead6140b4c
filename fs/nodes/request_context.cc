#include "fs/nodes/request_context.h"

#include "core/base/error.h"
#include "fs/nodes/node_numbers.h"

namespace arborfs {

Error stale_error() {
  return {Errc::stale, "the session has changed since the file was opened; open it again"};
}

Error no_such_name() {
  return {Errc::not_found, "no such name"};
}

namespace {

/// True for the kinds whose item is an entry.
bool is_of_entry(Kind kind) {
  return kind == Kind::leaf_link ||
         (kind >= Kind::entry && kind <= Kind::label_link && kind != Kind::image && kind != Kind::damage_run);
}

/// The entry whose generation a node's slot has, if it has one.
Ordinal generation_entry(NodeId node) {
  switch (node.kind()) {
    case Kind::entries:
    case Kind::texts:
    case Kind::branches:
      return kNoEntry;
    case Kind::images:
    case Kind::image:
    case Kind::damage:
    case Kind::damage_run:
      return Session::Guard::kLastEntry;  // their items are not entries
    default:
      return node.item();
  }
}

}  // namespace

Result<SessionRef> session_of(MountState& state, NodeId node) {
  const auto slot = state.slots.at(node.slot());
  if (!slot) {
    return stale_error();
  }
  SessionRef ref;
  ref.view = state.catalog.view();
  ref.session = ref.view->session(slot->session);
  if (!ref.session) {
    return stale_error();
  }
  ref.use = Session::Use(ref.session);
  ref.generation = slot->generation;
  ref.entry = generation_entry(node);
  ref.home = slot->generation == 0 ? node.slot() : state.slots.slot_of(slot->session, 0);
  ref.seed = state.seeds.seed_of(*ref.session, *ref.view);
  return ref;
}

bool is_fresh(const RequestContext& call, const Session& session, Depth depth) {
  return call.has_refreshed(session.number(), depth) || MountState::refreshed_lately(session, depth);
}

Result<void> refresh_again(RequestContext& call, const SessionRef& ref, Depth depth) {
  if (!call.may_take_long() && !ref.session->is_quick(depth)) {
    return call.defer();
  }
  if (auto done = ref.session->refresh(depth); !done) {
    return done.error().code == Errc::not_found ? stale_error() : done.error();
  }
  call.note_refreshed(ref.session->number(), depth);
  return {};
}

Result<SessionRef> resolve_session(MountState& state, RequestContext& call, NodeId node, Depth depth) {
  ASSIGN_OR_RETURN(auto ref, session_of(state, node));
  return refreshed_to(call, std::move(ref), depth);
}

Result<SessionRef> refreshed_to(RequestContext& call, SessionRef ref, Depth depth) {
  if (!is_fresh(call, *ref.session, depth) || !ref.session->has(depth)) {
    RETURN_IF_ERROR(refresh_again(call, ref, depth));
  }
  if (ref.generation != 0) {
    RETURN_IF_ERROR(guard_of(ref));
  }
  return ref;
}

Result<Session::Guard> guard_of(const SessionRef& ref) {
  auto guard = ref.session->read();
  if (!guard || (ref.generation != 0 && guard->generation_of(ref.entry) != ref.generation)) {
    return stale_error();
  }
  return std::move(*guard);
}

Result<SessionState> state_of(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(auto ref, resolve_session(state, call, node, Depth::index));
  ASSIGN_OR_RETURN(auto guard, guard_of(ref));
  if (is_of_entry(node.kind()) && (node.item() == kNoEntry || node.item() > guard.index().size())) {
    return stale_error();
  }
  return SessionState{std::move(ref), std::move(guard)};
}

Result<std::uint32_t> slot_of_entry(MountState& state, const SessionRef& ref, const Session::Guard& guard,
                                    Ordinal entry) {
  const std::uint32_t slot = state.slots.slot_of(ref.session->number(), guard.generation_of(entry));
  if (slot == 0) {
    return Error{Errc::no_space,
                 "this mount has no number left for a state of the session; unmount it and mount it again"};
  }
  return slot;
}

CacheTtl entry_name_life(const Session::Guard& guard, Ordinal entry) {
  return guard.is_settled(entry) ? CacheTtl::forever : CacheTtl::moment;
}

}  // namespace arborfs
