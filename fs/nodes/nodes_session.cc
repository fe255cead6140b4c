#include <array>

#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/entry/tree.h"
#include "core/store/store_parts.h"
#include "core/write/verbs.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

namespace {

/// When a name exists, and the kind of its node.
enum class Presence {
  view,         // if the session has it; one whose text is compared even when the log cannot be read
  leaf,         // unless the session is at its root
  generation,   // a folder whose content belongs to one generation
  damage,       // if there is any
  home,         // a folder that outlives generations
  artifacts,    // if the agent made any
  checkpoints,  // if the agent kept any
  native,       // if the agent keeps more than the log
  children,     // if it started others, even when the log cannot be read
  control,      // if the session's format takes the verb and the mount is writable
  unlisted,     // if the mount is writable: a read-only one opens no files; in no listing
};

/// A name in a session's folder.
struct SessionRow {
  std::string_view name;
  Kind kind;
  Presence has;
  const ViewRow* view = nullptr;
  std::uint32_t verb = 0;  // place of a control file's verb in all_verbs()
};

constexpr SessionRow kLeaf{"leaf", Kind::leaf_link, Presence::leaf};
constexpr SessionRow kLabels{"labels", Kind::labels, Presence::home};
/// A read of it may take long, but a walk of the mount must not, even one that follows links: so no listing has it
/// (CONTRACT.md 2.6).
constexpr SessionRow kWait{"wait", Kind::wait, Presence::unlisted};
constexpr std::array kFolders = {
    SessionRow{"entries", Kind::entries, Presence::generation},
    SessionRow{"text", Kind::texts, Presence::generation},
    SessionRow{"images", Kind::images, Presence::generation},
    SessionRow{"branches", Kind::branches, Presence::generation},
    SessionRow{"damage", Kind::damage, Presence::damage},
    SessionRow{"artifacts", Kind::artifact_dir, Presence::artifacts},
    SessionRow{"checkpoints", Kind::checkpoint_dir, Presence::checkpoints},
    SessionRow{"native", Kind::native_dir, Presence::native},
    SessionRow{"children", Kind::children, Presence::children},
};

void add_views(bool taking_work, std::vector<SessionRow>& rows) {
  for (const ViewRow& view : session_views()) {
    if (size_takes_work(view) == taking_work) {
      rows.push_back({view.name, kind_of(view), Presence::view, &view});
    }
  }
}

void add_controls(std::vector<SessionRow>& rows) {
  std::uint32_t place = 0;
  for (const Verb& verb : all_verbs()) {
    if (verb.file == VerbFile::of_session) {
      rows.push_back({verb.name, Kind::control, Presence::control, nullptr, place});
    }
    ++place;
  }
}

/// All names, in the order of the listing: labels last (RecursiveRemoves).
const std::vector<SessionRow>& session_rows() {
  static const std::vector<SessionRow> rows = [] {
    std::vector<SessionRow> all;
    add_views(false, all);
    all.push_back(kLeaf);
    add_views(true, all);
    all.insert(all.end(), kFolders.begin(), kFolders.end());
    add_controls(all);
    all.push_back(kWait);
    all.push_back(kLabels);
    return all;
  }();
  return rows;
}

Result<NodeId> leaf_node(MountState& state, const SessionRef& ref) {
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  if (guard.leaf() == kNoEntry) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, ref, guard, guard.leaf()));
  return NodeId(Kind::leaf_link, slot, guard.leaf());
}

Result<NodeId> damage_node(MountState& state, const SessionRef& ref) {
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  if (shown_damage(guard).empty()) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, ref, guard, Session::Guard::kLastEntry));
  return NodeId(Kind::damage, slot, 0);
}

Result<NodeId> if_there(bool is_there, NodeId node) {
  if (!is_there) {
    return no_such_name();
  }
  return node;
}

/// The present node of a row's name; not_found if the name is absent.
Result<NodeId> node_of_row(MountState& state, RequestContext& call, const SessionRef& ref, const SessionRow& row) {
  const Session& session = *ref.session;
  const NodeId node(row.kind, ref.home, row.verb);
  switch (row.has) {
    case Presence::view:
      return has_view(session, *row.view) ? present_node(state, call, ref, *row.view) : no_such_name();
    case Presence::leaf:
      return leaf_node(state, ref);
    case Presence::generation: {
      const bool is_of_all = row.kind == Kind::images;  // no image is named by an entry alone
      ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
      ASSIGN_OR_RETURN(const auto slot,
                       slot_of_entry(state, ref, guard, is_of_all ? Session::Guard::kLastEntry : kNoEntry));
      return NodeId(row.kind, slot, 0);
    }
    case Presence::damage:
      return damage_node(state, ref);
    case Presence::children:
      return if_there(ref.view->children.contains(session.number()), node);
    case Presence::artifacts:
      return if_there(artifacts_of(session.store(), session.place()).has_value(), node);
    case Presence::checkpoints:
      return if_there(checkpoints_of(session.store(), session.place()).has_value(), node);
    case Presence::native:
      return if_there(native_files_of(session.store(), session.place()).has_value(), node);
    case Presence::control:
      return if_there(control_nodes::is_in(state, session, row.name), node);
    case Presence::unlisted:
      return if_there(!state.read_only, node);
    case Presence::home:
      break;
  }
  return node;
}

/// How far the log must be read for a name.
Depth depth_of_row(const SessionRow& row) {
  if (row.has == Presence::control) {
    return Depth::head;
  }
  if (row.has == Presence::view) {
    return depth_of(*row.view);
  }
  return row.kind == Kind::texts ? Depth::details : Depth::index;
}

/// An item without the attributes that take work; the kernel asks for them.
NamesSnapshot::Item brief_item(const SessionRef& ref, const SessionRow& row) {
  const NodeId node(row.kind, ref.home, 0);
  const FileType type = row.has == Presence::children ? FileType::directory : FileType::file;
  const Attr brief{node, stable_ino(ref.seed, word_of(node)), type, CacheTtl::moment, 0, 0};
  return {std::string(row.name), {node, CacheTtl::moment}, brief};
}

/// The item of a listing, or nothing if the name is absent.
Result<std::optional<NamesSnapshot::Item>> item_of_row(MountState& state, RequestContext& call, const SessionRef& ref,
                                                       const SessionRow& row) {
  if (row.has == Presence::unlisted) {
    return std::optional<NamesSnapshot::Item>();
  }
  if (row.view != nullptr && size_takes_work(*row.view)) {
    return has_view(*ref.session, *row.view) ? std::optional(brief_item(ref, row)) : std::nullopt;
  }
  auto node = node_of_row(state, call, ref, row);
  if (!node) {
    return node.error().code == Errc::not_found ? Result<std::optional<NamesSnapshot::Item>>(std::nullopt)
                                                : Result<std::optional<NamesSnapshot::Item>>(node.error());
  }
  const CacheTtl life = row.has == Presence::control ? CacheTtl::glance : CacheTtl::moment;
  return std::optional(NamesSnapshot::Item{std::string(row.name), {*node, life}, std::nullopt});
}

/// True for names that exist even if the session's log cannot be read: status.json, which says why, and children/.
bool needs_no_log(const SessionRow& row) {
  return row.has == Presence::children || (row.view != nullptr && row.view->validity == Validity::text);
}

ListingPtr listing_without_log(const SessionRef& ref) {
  std::vector<NamesSnapshot::Item> items;
  for (const SessionRow& row : session_rows()) {
    const bool is_there = row.has == Presence::children ? ref.view->children.contains(ref.session->number())
                                                        : row.view != nullptr && has_view(*ref.session, *row.view);
    if (needs_no_log(row) && is_there) {
      items.push_back(brief_item(ref, row));
    }
  }
  return std::make_shared<NamesSnapshot>(std::move(items), 0);
}

/// Does not check the log: if it has become unreadable, the command itself reports that best. A session whose log was
/// never readable has no control files.
Result<Child> control_child(MountState& state, NodeId node, const SessionRow& row) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  const bool was_read = ref.session->is_readable() || ref.session->versions().entries != 0;
  if (!control_nodes::is_in(state, *ref.session, row.name) || !was_read) {
    return no_such_name();
  }
  return Child{state.control_inodes.free_inode(NodeId(row.kind, ref.home, row.verb)), CacheTtl::glance};
}

bool tells_of_the_log(const Error& error) {
  return error.code != Errc::stale && error.code != Errc::interrupted;
}

}  // namespace

std::vector<std::string_view> changing_names(Change::Kind change) {
  std::vector<std::string_view> names;
  for (const SessionRow& row : session_rows()) {
    const bool is_lasting = row.has == Presence::generation || row.has == Presence::home ||
                            row.has == Presence::control || row.has == Presence::children ||
                            row.has == Presence::unlisted;
    const bool is_replaced = change == Change::Kind::session_rewritten ||
                             (change == Change::Kind::session_revised && row.kind == Kind::images);
    if (!is_lasting || (is_replaced && row.has == Presence::generation)) {
      names.push_back(row.name);
    }
  }
  return names;
}

namespace session_nodes {

namespace {

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
  for (const SessionRow& row : session_rows()) {
    if (row.name != name) {
      continue;
    }
    if (row.has == Presence::control) {
      return control_child(state, node, row);
    }
    auto ref = session_of(state, node);
    if (ref && !needs_no_log(row)) {
      ref = refreshed_to(call, *ref, depth_of_row(row));
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
  const auto ref = bare ? refreshed_to(call, *bare, Depth::index) : bare;
  if (!ref) {
    return bare && tells_of_the_log(ref.error()) ? Result<ListingPtr>(listing_without_log(*bare))
                                                 : Result<ListingPtr>(ref.error());
  }
  std::vector<NamesSnapshot::Item> items;
  for (const SessionRow& row : session_rows()) {
    ASSIGN_OR_RETURN(auto item, item_of_row(state, call, *ref, row));
    if (item) {
      items.push_back(std::move(*item));
    }
  }
  const auto guard = guard_of(*ref);
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), guard ? guard->epoch() : 0));
}

}  // namespace

Result<Attr> folder_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  return directory_attr(node, stable_ino(ref.seed, word_of(node)), ref.session->mtime_ns());
}

namespace {

std::string path_of_entry(const LogIndex& index, Ordinal ordinal) {
  return "entries/" + names::entry_stem(index, ordinal) + ".json";
}

Result<std::string> leaf_target(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  return path_of_entry(here.guard.index(), node.item());
}

Result<Attr> leaf_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  return symlink_attr(node, stable_ino(here.ref.seed, word_of(node)), CacheTtl::forever,
                      path_of_entry(here.guard.index(), node.item()), entry_time(here.guard, node.item()));
}

Result<Attr> wait_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  return Attr{node, stable_ino(ref.seed, word_of(node)), FileType::file, CacheTtl::glance, 0, state.mounted_ns};
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::session, "session", attr, lookup, list),
      file_row(Kind::wait, "wait", wait_attr, nullptr),
      link_row(Kind::leaf_link, "leaf", leaf_attr, leaf_target),
  };
  return kRows;
}

}  // namespace session_nodes

}  // namespace arborfs
