#include <array>

#include "core/model/tree.h"
#include "core/render/names.h"
#include "fs/change_map.h"
#include "fs/nodes.h"

namespace arborfs {

namespace {

/// When a name is there at all, and which node it is.
enum class Has {
  document,    // always
  status,      // always, even when the log cannot be read
  leaf,        // unless the session is at its root
  generation,  // a folder whose content goes with one generation
  damage,      // when there is any
  home,        // a folder that outlives generations
  artifacts,   // when the agent made any
  control,     // unless the mount is read-only
};

/// What hangs in the folder of a session, in the order in which it is listed: labels last (removals.h).
struct SessionRow {
  std::string_view name;
  Kind kind;
  Has has;
  bool takes_work = false;  // its size is known only when it is made
};

constexpr std::array kSessionRows = {
    SessionRow{"session.json", Kind::session_json, Has::document},
    SessionRow{"title", Kind::title, Has::document},
    SessionRow{"raw.jsonl", Kind::raw, Has::document},
    SessionRow{"leaf", Kind::leaf_link, Has::leaf},
    SessionRow{"context.json", Kind::context, Has::document, true},
    SessionRow{"transcript.md", Kind::transcript, Has::document, true},
    SessionRow{"tree.txt", Kind::tree, Has::document, true},
    SessionRow{"usage.json", Kind::usage, Has::document, true},
    SessionRow{"status.json", Kind::session_status, Has::status, true},
    SessionRow{"entries", Kind::entries, Has::generation},
    SessionRow{"text", Kind::texts, Has::generation},
    SessionRow{"images", Kind::images, Has::generation},
    SessionRow{"branches", Kind::branches, Has::generation},
    SessionRow{"damage", Kind::damage, Has::damage},
    SessionRow{"artifacts", Kind::artifact_dir, Has::artifacts},
    SessionRow{"append", Kind::control, Has::control},
    SessionRow{"branch", Kind::control, Has::control},
    SessionRow{"label", Kind::control, Has::control},
    SessionRow{"fork", Kind::control, Has::control},
    SessionRow{"labels", Kind::labels, Has::home},
};

Result<NodeId> leaf_node(MountState& state, const SessionRef& ref) {
  const auto slot = generation_slot(state, ref);
  if (!slot) {
    return slot.error();
  }
  auto guard = guard_of(ref);
  if (!guard || guard->leaf() == kNoEntry) {
    return no_such_name();
  }
  return NodeId(Kind::leaf_link, *slot, guard->leaf());
}

Result<NodeId> damage_node(MountState& state, const SessionRef& ref) {
  const auto slot = generation_slot(state, ref);
  if (!slot) {
    return slot.error();
  }
  auto guard = guard_of(ref);
  if (!guard || shown_damage(*guard).empty()) {
    return no_such_name();
  }
  return NodeId(Kind::damage, *slot, 0);
}

/// The node that a row's name has now; not_found when the name is absent.
Result<NodeId> node_of_row(MountState& state, Call& call, const SessionRef& ref, const SessionRow& row) {
  switch (row.has) {
    case Has::document:
    case Has::status:
      return present_node(state, call, ref, row.kind);
    case Has::leaf:
      return leaf_node(state, ref);
    case Has::generation: {
      const auto slot = generation_slot(state, ref);
      return slot ? Result<NodeId>(NodeId(row.kind, *slot, 0)) : Result<NodeId>(slot.error());
    }
    case Has::damage:
      return damage_node(state, ref);
    case Has::home:
      return NodeId(row.kind, ref.home, 0);
    case Has::control:
      return state.read_only ? Result<NodeId>(no_such_name()) : control_nodes::in_session(ref.home, row.name);
    case Has::artifacts:
      break;
  }
  const auto folder = state.catalog.store().artifacts(ref.session->place());
  return folder ? Result<NodeId>(NodeId(row.kind, ref.home, 0)) : Result<NodeId>(no_such_name());
}

/// Longer logs are read for their texts when somebody asks for those.
constexpr std::uint64_t kShortLog = std::uint64_t{32} << 20U;

/// How far the log is read for who comes to a session's folder. He goes on to entries and texts, as a rule (`ls -R`,
/// `find`, `rg`); to take a log apart once for both takes two thirds of the time of once for each.
Depth folder_depth(const Session& session) {
  return session.stat().size <= kShortLog ? Depth::details : Depth::index;
}

/// How far the log must have been read for a name.
Depth depth_of_row(const SessionRow& row, const Session& session) {
  if (row.has == Has::control) {
    return Depth::head;
  }
  if (row.has == Has::document) {
    return document_depth(row.kind);
  }
  return row.kind == Kind::texts ? Depth::details : row.kind == Kind::entries ? folder_depth(session) : Depth::index;
}

/// The item of a listing, or nothing when the name is absent. What takes work is left for the kernel to ask.
Result<std::optional<NameListing::Item>> item_of_row(MountState& state, Call& call, const SessionRef& ref,
                                                     const SessionRow& row) {
  NameListing::Item item{std::string(row.name), {}, std::nullopt};
  if (row.takes_work) {
    const NodeId node(row.kind, ref.home, 0);
    item.child.node = node;
    item.brief = Attr{node, stable_ino(ref.seed, word_of(node)), FileType::file, Life::moment, 0, 0};
    return std::optional(std::move(item));
  }
  auto node = node_of_row(state, call, ref, row);
  if (!node) {
    return node.error().code == Errc::not_found ? Result<std::optional<NameListing::Item>>(std::nullopt)
                                                : Result<std::optional<NameListing::Item>>(node.error());
  }
  item.child.node = *node;
  item.child.name_life = row.has == Has::control ? Life::glance : Life::moment;
  return std::optional(std::move(item));
}

/// Of a session whose log cannot be read only status.json is shown: it says why.
ListingPtr status_only(const SessionRef& ref) {
  const NodeId node(Kind::session_status, ref.home, 0);
  Attr brief{node, stable_ino(ref.seed, word_of(node)), FileType::file, Life::moment, 0, 0};
  std::vector<NameListing::Item> items;
  items.push_back({"status.json", {node, Life::moment}, brief});
  return std::make_shared<NameListing>(std::move(items), 0);
}

/// Without a look at the log: what is wrong with it by now the command itself is told best. One that could never be
/// read takes no commands.
Result<Child> control_child(MountState& state, NodeId node, const SessionRow& row) {
  const auto ref = session_of(state, node);
  if (!ref) {
    return ref.error();
  }
  const bool was_read = ref->session->head().problem.empty() || ref->session->generations().entries != 0;
  if (state.read_only || !was_read) {
    return no_such_name();
  }
  return Child{state.doors.free_door(control_nodes::in_session(ref->home, row.name)), Life::glance};
}

bool tells_of_the_log(const Error& error) {
  return error.code != Errc::stale && error.code != Errc::interrupted;
}

}  // namespace

std::vector<std::string_view> changing_names(bool after_rewrite) {
  std::vector<std::string_view> names;
  for (const SessionRow& row : kSessionRows) {
    const bool is_lasting = row.has == Has::generation || row.has == Has::home || row.has == Has::control;
    if (!is_lasting || (after_rewrite && row.has == Has::generation)) {
      names.push_back(row.name);
    }
  }
  return names;
}

namespace session_nodes {

Result<Attr> attr(MountState& state, Call& call, NodeId node) {
  const auto ref = session_of(state, node);
  if (!ref) {
    return ref.error();
  }
  const Depth loaded = ref->session->read() ? Depth::details : Depth::head;
  // Not where the folder of the store may hang: a listing of the project must not wait for one session.
  if (!state.catalog.lies_apart(ref->session->place().folder) && !is_fresh(call, *ref->session, Depth::head) &&
      ref->session->is_quick(loaded)) {
    // An unreadable log has its folder all the same, and nobody lists folders to wait for what is in them.
    const auto seen = [&] { return call.stat(state.catalog.store(), ref->session->place()); };
    if (ref->session->refresh(Depth::head, seen)) {
      call.note_refreshed(ref->session->number(), Depth::head);
    }
  }
  return directory_attr(node, stable_ino(ref->seed, word_of(node)), ref->session->mtime_ns());
}

Result<Child> lookup(MountState& state, Call& call, NodeId node, std::string_view name) {
  for (const SessionRow& row : kSessionRows) {
    if (row.name != name) {
      continue;
    }
    if (row.has == Has::control) {
      return control_child(state, node, row);
    }
    auto ref = session_of(state, node);
    if (ref && row.has != Has::status) {
      ref = brought_to(call, *ref, depth_of_row(row, *ref->session));
    }
    if (!ref) {
      return tells_of_the_log(ref.error()) ? no_such_name() : ref.error();
    }
    const auto found = node_of_row(state, call, *ref, row);
    return found ? Result<Child>(Child{*found, Life::moment}) : Result<Child>(found.error());
  }
  return no_such_name();
}

Result<ListingPtr> list(MountState& state, Call& call, NodeId node) {
  const auto bare = session_of(state, node);
  const auto ref = bare ? brought_to(call, *bare, folder_depth(*bare->session)) : bare;
  if (!ref) {
    return bare && tells_of_the_log(ref.error()) ? Result<ListingPtr>(status_only(*bare))
                                                 : Result<ListingPtr>(ref.error());
  }
  std::vector<NameListing::Item> items;
  for (const SessionRow& row : kSessionRows) {
    auto item = item_of_row(state, call, *ref, row);
    if (!item) {
      return item.error();
    }
    if (*item) {
      items.push_back(std::move(**item));
    }
  }
  const auto guard = guard_of(*ref);
  return ListingPtr(std::make_shared<NameListing>(std::move(items), guard ? guard->epoch() : 0));
}

Result<Attr> folder_attr(MountState& state, Call& call, NodeId node) {
  const auto ref = session_at(state, call, node, Depth::index);
  if (!ref) {
    return ref.error();
  }
  return directory_attr(node, stable_ino(ref->seed, word_of(node)), ref->session->mtime_ns());
}

Result<Attr> leaf_attr(MountState& state, Call& call, NodeId node) {
  const auto ref = session_at(state, call, node, Depth::index);
  const auto target = leaf_target(state, call, node);
  if (!ref || !target) {
    return ref ? target.error() : ref.error();
  }
  const auto guard = guard_of(*ref);
  if (!guard) {
    return guard.error();
  }
  return symlink_attr(node, stable_ino(ref->seed, word_of(node)), Life::forever, *target,
                      entry_nodes::entry_time(*guard, node.item()));
}

Result<std::string> leaf_target(MountState& state, Call& call, NodeId node) {
  const auto guard = guard_of_entry(state, call, node);
  if (!guard) {
    return guard.error();
  }
  return "entries/" + names::entry_stem(guard->index(), node.item()) + ".json";
}

}  // namespace session_nodes

}  // namespace arborfs
