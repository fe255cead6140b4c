#include <array>

#include "core/base/result_macros.h"
#include "core/model/tree.h"
#include "core/render/names.h"
#include "fs/nodes/nodes.h"

namespace arborfs {

namespace {

/// When a name exists, and what kind of node it has.
enum class Presence {
  document,     // always
  status,       // always, even when the log cannot be read
  leaf,         // unless the session is at its root
  generation,   // a folder whose content belongs to one generation
  damage,       // if there is any
  home,         // a folder that outlives generations
  artifacts,    // if the agent made any
  checkpoints,  // if the agent kept any
  native,       // if the log is not all that the agent keeps
  control,      // if the session's format takes the verb and the mount is writable
};

/// A name in a session's folder. Rows are in the order of the listing: labels last (recursive_remove.h).
struct SessionRow {
  std::string_view name;
  Kind kind;
  Presence has;
  bool takes_work = false;  // its size is known only once it is made
};

constexpr std::array kSessionRows = {
    SessionRow{"session.json", Kind::session_json, Presence::document},
    SessionRow{"title", Kind::title, Presence::document},
    SessionRow{"raw.jsonl", Kind::raw, Presence::document},
    SessionRow{"leaf", Kind::leaf_link, Presence::leaf},
    SessionRow{"context.json", Kind::context, Presence::document, true},
    SessionRow{"transcript.md", Kind::transcript, Presence::document, true},
    SessionRow{"tree.txt", Kind::tree, Presence::document, true},
    SessionRow{"usage.json", Kind::usage, Presence::document, true},
    SessionRow{"status.json", Kind::session_status, Presence::status, true},
    SessionRow{"entries", Kind::entries, Presence::generation},
    SessionRow{"text", Kind::texts, Presence::generation},
    SessionRow{"images", Kind::images, Presence::generation},
    SessionRow{"branches", Kind::branches, Presence::generation},
    SessionRow{"damage", Kind::damage, Presence::damage},
    SessionRow{"artifacts", Kind::artifact_dir, Presence::artifacts},
    SessionRow{"checkpoints", Kind::checkpoint_dir, Presence::checkpoints},
    SessionRow{"native", Kind::native_dir, Presence::native},
    SessionRow{"append", Kind::control, Presence::control},
    SessionRow{"branch", Kind::control, Presence::control},
    SessionRow{"label", Kind::control, Presence::control},
    SessionRow{"fork", Kind::control, Presence::control},
    SessionRow{"replace", Kind::control, Presence::control},
    SessionRow{"summary", Kind::control, Presence::control},
    SessionRow{"checkpoint", Kind::control, Presence::control},
    SessionRow{"rewind", Kind::control, Presence::control},
    SessionRow{"labels", Kind::labels, Presence::home},
};

Result<NodeId> leaf_node(MountState& state, const SessionRef& ref) {
  ASSIGN_OR_RETURN(const auto slot, generation_slot(state, ref));
  auto guard = guard_of(ref);
  if (!guard || guard->leaf() == kNoEntry) {
    return no_such_name();
  }
  return NodeId(Kind::leaf_link, slot, guard->leaf());
}

Result<NodeId> damage_node(MountState& state, const SessionRef& ref) {
  ASSIGN_OR_RETURN(const auto slot, generation_slot(state, ref));
  auto guard = guard_of(ref);
  if (!guard || shown_damage(*guard).empty()) {
    return no_such_name();
  }
  return NodeId(Kind::damage, slot, 0);
}

bool keeps_files(const Session& session, Presence which) {
  const SessionStore& store = session.store();
  const LogPlace place = session.place();
  if (which == Presence::artifacts) {
    return store.artifacts(place).has_value();
  }
  return which == Presence::native ? store.native_files(place).has_value() : store.checkpoints(place).has_value();
}

/// The present node of a row's name; not_found if the name is absent.
Result<NodeId> node_of_row(MountState& state, RequestContext& call, const SessionRef& ref, const SessionRow& row) {
  switch (row.has) {
    case Presence::document:
    case Presence::status:
      return present_node(state, call, ref, row.kind);
    case Presence::leaf:
      return leaf_node(state, ref);
    case Presence::generation: {
      const auto slot = generation_slot(state, ref);
      return slot ? Result<NodeId>(NodeId(row.kind, *slot, 0)) : Result<NodeId>(slot.error());
    }
    case Presence::damage:
      return damage_node(state, ref);
    case Presence::home:
      return NodeId(row.kind, ref.home, 0);
    case Presence::control:
      return control_nodes::is_in(state, *ref.session, row.name) ? control_nodes::in_session(ref.home, row.name)
                                                                 : Result<NodeId>(no_such_name());
    case Presence::artifacts:
    case Presence::checkpoints:
    case Presence::native:
      break;
  }
  return keeps_files(*ref.session, row.has) ? Result<NodeId>(NodeId(row.kind, ref.home, 0))
                                            : Result<NodeId>(no_such_name());
}

/// The texts of longer logs are read only when they are asked for.
constexpr std::uint64_t kShortLog = std::uint64_t{32} << 20U;

/// How far the log is read for a listing of a session's folder. Entries and texts usually follow (`ls -R`, `find`,
/// `rg`); one scan of the log for both takes two thirds of the time of two scans.
Depth folder_depth(const Session& session) {
  return session.stat().size <= kShortLog ? Depth::details : Depth::index;
}

/// How far the log must be read for a name.
Depth depth_of_row(const SessionRow& row, const Session& session) {
  if (row.has == Presence::control) {
    return Depth::head;
  }
  if (row.has == Presence::document) {
    return document_depth(row.kind);
  }
  return row.kind == Kind::texts ? Depth::details : row.kind == Kind::entries ? folder_depth(session) : Depth::index;
}

/// The item of a listing, or nothing if the name is absent. Attributes that take work are left out; the kernel asks for
/// them.
Result<std::optional<NamesSnapshot::Item>> item_of_row(MountState& state, RequestContext& call, const SessionRef& ref,
                                                       const SessionRow& row) {
  NamesSnapshot::Item item{std::string(row.name), {}, std::nullopt};
  if (row.takes_work) {
    const NodeId node(row.kind, ref.home, 0);
    item.child.node = node;
    item.brief = Attr{node, stable_ino(ref.seed, word_of(node)), FileType::file, CacheTtl::moment, 0, 0};
    return std::optional(std::move(item));
  }
  auto node = node_of_row(state, call, ref, row);
  if (!node) {
    return node.error().code == Errc::not_found ? Result<std::optional<NamesSnapshot::Item>>(std::nullopt)
                                                : Result<std::optional<NamesSnapshot::Item>>(node.error());
  }
  item.child.node = *node;
  item.child.name_life = row.has == Presence::control ? CacheTtl::glance : CacheTtl::moment;
  return std::optional(std::move(item));
}

/// If a session's log cannot be read, only status.json is listed: it says why.
ListingPtr status_only(const SessionRef& ref) {
  const NodeId node(Kind::session_status, ref.home, 0);
  Attr brief{node, stable_ino(ref.seed, word_of(node)), FileType::file, CacheTtl::moment, 0, 0};
  std::vector<NamesSnapshot::Item> items;
  items.push_back({"status.json", {node, CacheTtl::moment}, brief});
  return std::make_shared<NamesSnapshot>(std::move(items), 0);
}

/// Does not check the log: if it has become unreadable, the command itself reports that best. A session whose log was
/// never readable has no control files.
Result<Child> control_child(MountState& state, NodeId node, const SessionRow& row) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  const bool was_read = ref.session->head().problem.empty() || ref.session->generations().entries != 0;
  if (!control_nodes::is_in(state, *ref.session, row.name) || !was_read) {
    return no_such_name();
  }
  return Child{state.control_inodes.free_inode(control_nodes::in_session(ref.home, row.name)), CacheTtl::glance};
}

bool tells_of_the_log(const Error& error) {
  return error.code != Errc::stale && error.code != Errc::interrupted;
}

}  // namespace

std::vector<std::string_view> changing_names(bool after_rewrite) {
  std::vector<std::string_view> names;
  for (const SessionRow& row : kSessionRows) {
    const bool is_lasting =
        row.has == Presence::generation || row.has == Presence::home || row.has == Presence::control;
    if (!is_lasting || (after_rewrite && row.has == Presence::generation)) {
      names.push_back(row.name);
    }
  }
  return names;
}

namespace session_nodes {

Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  const auto ref = session_of(state, node);
  if (!ref) {
    return ref.error();
  }
  const Depth loaded = ref->session->read() ? Depth::details : Depth::head;
  // Skipped if the folder of the store may hang: a listing of the project must not wait for one session.
  if (!state.catalog.is_submount(ref->session->place().in()) && !is_fresh(call, *ref->session, Depth::head) &&
      ref->session->is_quick(loaded)) {
    // A session with an unreadable log has its folder too, and a listing of folders must not wait for their contents.
    const auto seen = [&] { return call.stat(*ref->session); };
    if (ref->session->refresh(Depth::head, seen)) {
      call.note_refreshed(ref->session->number(), Depth::head);
    }
  }
  return directory_attr(node, stable_ino(ref->seed, word_of(node)), ref->session->mtime_ns());
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  for (const SessionRow& row : kSessionRows) {
    if (row.name != name) {
      continue;
    }
    if (row.has == Presence::control) {
      return control_child(state, node, row);
    }
    auto ref = session_of(state, node);
    if (ref && row.has != Presence::status) {
      ref = brought_to(call, *ref, depth_of_row(row, *ref->session));
    }
    if (!ref) {
      return tells_of_the_log(ref.error()) ? no_such_name() : ref.error();
    }
    const auto found = node_of_row(state, call, *ref, row);
    return found ? Result<Child>(Child{*found, CacheTtl::moment}) : Result<Child>(found.error());
  }
  return no_such_name();
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  const auto bare = session_of(state, node);
  const auto ref = bare ? brought_to(call, *bare, folder_depth(*bare->session)) : bare;
  if (!ref) {
    return bare && tells_of_the_log(ref.error()) ? Result<ListingPtr>(status_only(*bare))
                                                 : Result<ListingPtr>(ref.error());
  }
  std::vector<NamesSnapshot::Item> items;
  for (const SessionRow& row : kSessionRows) {
    ASSIGN_OR_RETURN(auto item, item_of_row(state, call, *ref, row));
    if (item) {
      items.push_back(std::move(*item));
    }
  }
  const auto guard = guard_of(*ref);
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), guard ? guard->epoch() : 0));
}

Result<Attr> folder_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  return directory_attr(node, stable_ino(ref.seed, word_of(node)), ref.session->mtime_ns());
}

Result<Attr> leaf_attr(MountState& state, RequestContext& call, NodeId node) {
  const auto ref = resolve_session(state, call, node, Depth::index);
  const auto target = leaf_target(state, call, node);
  if (!ref || !target) {
    return ref ? target.error() : ref.error();
  }
  ASSIGN_OR_RETURN(const auto guard, guard_of(*ref));
  return symlink_attr(node, stable_ino(ref->seed, word_of(node)), CacheTtl::forever, *target,
                      entry_nodes::entry_time(guard, node.item()));
}

Result<std::string> leaf_target(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto guard, guard_of_entry(state, call, node));
  return "entries/" + names::entry_stem(guard.index(), node.item()) + ".json";
}

}  // namespace session_nodes

}  // namespace arborfs
