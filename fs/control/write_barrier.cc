#include "fs/control/write_barrier.h"

#include "core/render/names.h"
#include "fs/nodes/node_families.h"
#include "fs/tree/resolve_session.h"

namespace arborfs {

namespace {

constexpr std::size_t kIdNameBytes = 240;
constexpr std::size_t kFewChanges = 64;

/// The views that may report a write that changed nothing, such as status.json after a refused write.
void add_texts(NodeId session, std::vector<Invalidation>& out) {
  for (const ViewRow& view : session_views()) {
    if (view.validity == Validity::text) {
      out.push_back({session, std::string(view.name)});
    }
  }
}

}  // namespace

WriteBarrier::Shown WriteBarrier::shown(const SessionPtr& session) const {
  Shown now;
  now.sequence = state_.catalog.feed().last_sequence();
  if (session) {
    const auto view = state_.catalog.view();
    now.path = shown_path(*view, *session);
    const auto found = view->where.find(session->number());
    now.starter = found == view->where.end() ? 0 : found->second.starter;
    now.id_name = names::encode(session->head().header.id, kIdNameBytes);
  }
  return now;
}

void WriteBarrier::refused(const SessionPtr& session, std::string_view doing, const Error& why) {
  const Shown before = shown(session);
  writer_.note_outcome(session, doing, &why);
  settle(session, before, false);
}

void WriteBarrier::settle(const SessionPtr& session, const Shown& before, bool is_done) {
  state_.note_own_write(session ? session->number() : 0);
  if (session && !is_done) {
    session->forget_look();
  }
  std::vector<Invalidation> more{{NodeId::root(), "status.json"}};
  if (session) {
    const Shown now = shown(session);
    if (const std::uint32_t home = state_.slots.find(session->number(), 0); home != 0) {
      add_texts(NodeId(Kind::session, home, 0), more);
    }
    if (before.path != now.path || before.id_name != now.id_name) {
      add_place(before, now, more);
      add_place(now, before, more);
    }
  }
  tell(before.sequence, std::move(more));
}

/// Bypasses the invalidator's thread where possible: when nothing has changed, or when only attributes need to be
/// invalidated.
void WriteBarrier::tell(std::uint64_t since, std::vector<Invalidation> more) {
  const InvalidationMap map(state_);
  more = map.known(std::move(more));
  if (more.empty() && news_.has_told(since, state_.catalog.feed().last_sequence())) {
    return;
  }
  const auto changes = state_.catalog.feed().after(since, kFewChanges);
  auto all = map.forgets(changes);
  all.insert(all.end(), more.begin(), more.end());
  if (changes.size() == kFewChanges || !news_.tell_at_once(all)) {
    news_.tell_and_wait(std::move(more));
  } else if (!changes.empty()) {
    news_.note_told(since, changes.back().sequence);
  }
}

/// Invalidates where a session was shown, if it is no longer shown there.
void WriteBarrier::add_place(const Shown& was, const Shown& is, std::vector<Invalidation>& out) const {
  if (was.path.empty() || was.path == is.path) {
    return;
  }
  out.push_back({NodeId(Kind::projects, 0, 0), ""});
  out.push_back({NodeId(Kind::by_id, 0, 0), was.id_name});
  const auto view = state_.catalog.view();
  for (const auto& [agent, places] : view->by_agent) {
    out.push_back({shortcut_nodes::agent_folder(agent), was.id_name});
  }
  InvalidationMap(state_).add_place(was.path, was.starter, out);
}

}  // namespace arborfs
