#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/entry/names.h"
#include "core/search/query.h"
#include "fs/nodes/node_table.h"

namespace arborfs::project_nodes {

namespace {

constexpr std::string_view kCwdName = "cwd";

Result<ProjectPtr> project_at(MountState& state, NodeId node) {
  auto project = state.catalog.view()->project(node.item());
  return project ? Result<ProjectPtr>(std::move(project)) : Result<ProjectPtr>(stale_error());
}

std::uint64_t project_ino(const std::string& cwd, NodeId node) {
  return stable_ino(0, word_of(node), cwd);
}

/// The kernel caches the targets of symlinks, so another name needs another node.
std::uint32_t name_tag(const Project& project) {
  return static_cast<std::uint32_t>(xxh64(project.name)) & NodeId::kMaxSlot;
}

/// The mtime of the newest log in a folder.
std::int64_t newest(const SessionFolder& folder, std::int64_t otherwise) {
  std::int64_t time = INT64_MIN;
  for (const auto& [name, session] : folder.sessions) {
    time = std::max(time, session->mtime_ns());
  }
  return time == INT64_MIN ? otherwise : time;
}

/// A session has the same node under each of its names. The kernel knows a folder by one name at a time, and moves it
/// from one to the other: so a shell in a session that gets another name stays in its folder.
Result<Child> child_of(MountState& state, const CatalogView& view, const SessionFolder& folder, std::string_view name) {
  const auto session = view.find_in(folder, name);
  const std::uint32_t slot = session ? state.slots.slot_of(session->number(), 0) : 0;
  if (slot == 0) {
    return no_such_name();
  }
  return Child{NodeId(Kind::session, slot, 0), CacheTtl::moment};
}

void add_sessions(MountState& state, const SessionFolder& folder, std::vector<NamesSnapshot::Item>& items) {
  items.reserve(items.size() + folder.sessions.size());
  for (const auto& [name, session] : folder.sessions) {
    const NodeId child(Kind::session, state.slots.slot_of(session->number(), 0), 0);
    items.push_back({name, {child, CacheTtl::moment}, std::nullopt});
  }
}

/// The children of a session; null if it has none.
SessionFolderPtr children_of(const SessionRef& ref) {
  const auto found = ref.view->children.find(ref.session->number());
  return found == ref.view->children.end() ? nullptr : found->second;
}

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, stable_ino(0, word_of(node)), state.view_time(*state.catalog.view()));
}

Result<Child> lookup(MountState& state, RequestContext& /*call*/, NodeId /*node*/, std::string_view name) {
  const auto view = state.catalog.view();
  if (const auto project = view->project(name)) {
    return Child{NodeId(Kind::project, 0, project->number), CacheTtl::moment};
  }
  const auto project = view->project_of_folder(name);
  if (!project) {
    return no_such_name();
  }
  return Child{NodeId(Kind::project_alias, name_tag(*project), project->number), CacheTtl::moment};
}

Result<ListingPtr> list(MountState& state, RequestContext& /*call*/, NodeId /*node*/) {
  const auto view = state.catalog.view();
  std::vector<NamesSnapshot::Item> items;
  items.reserve(view->projects.size());
  for (const auto& project : view->projects) {
    items.push_back({project->name, {NodeId(Kind::project, 0, project->number), CacheTtl::moment}, std::nullopt});
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

}  // namespace

Result<Attr> project_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  const auto view = state.catalog.view();
  if (const auto project = view->project(node.item())) {
    return directory_attr(node, project_ino(project->cwd, node), newest(*project, state.mounted_ns));
  }
  // Its last session is gone. A program inside it, such as `find -delete` or `rm -r`, sees it like any removed folder:
  // the same inode, and empty.
  const auto cwd = state.catalog.cwd_of_project(node.item());
  return cwd ? Result<Attr>(directory_attr(node, project_ino(*cwd, node), state.view_time(*view)))
             : Result<Attr>(stale_error());
}

namespace {

Result<Child> project_lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  const auto project = project_at(state, node);
  if (!project) {
    return no_such_name();
  }
  if (name == kCwdName) {
    return Child{NodeId(Kind::project_cwd, 0, node.item()), CacheTtl::forever};
  }
  return child_of(state, *state.catalog.view(), **project, name);
}

Result<ListingPtr> project_list(MountState& state, RequestContext& /*call*/, NodeId node) {
  const auto view = state.catalog.view();
  const auto project = view->project(node.item());
  std::vector<NamesSnapshot::Item> items;
  if (!project) {
    return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
  }
  items.push_back(
      {std::string(kCwdName), {NodeId(Kind::project_cwd, 0, node.item()), CacheTtl::forever}, std::nullopt});
  add_sessions(state, *project, items);
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

/// Like a project whose last session is gone, the folder stays for programs that are inside it.
Result<Attr> children_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  const auto children = children_of(ref);
  const std::int64_t time = children ? newest(*children, state.mounted_ns) : ref.session->mtime_ns();
  return directory_attr(node, stable_ino(ref.seed, word_of(node)), time);
}

Result<Child> children_lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  const auto children = children_of(ref);
  return children ? child_of(state, *ref.view, *children, name) : Result<Child>(no_such_name());
}

Result<ListingPtr> children_list(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  std::vector<NamesSnapshot::Item> items;
  if (const auto children = children_of(ref)) {
    add_sessions(state, *children, items);
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), ref.view->version));
}

Result<SnapshotPtr> cwd_document(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto project, project_at(state, node));
  const std::string text = project->cwd.empty() ? "" : names::without_controls(project->cwd) + "\n";
  return text_document(
      state, {node, project_ino(project->cwd, node), FileType::file, CacheTtl::forever, text.size(), state.mounted_ns},
      text);
}

Result<std::string> alias_target(MountState& state, RequestContext& /*call*/, NodeId node) {
  const auto project = project_at(state, node);
  if (!project || name_tag(**project) != node.slot()) {
    return stale_error();
  }
  return (*project)->name;
}

Result<Attr> alias_attr(MountState& state, RequestContext& call, NodeId node) {
  const auto target = alias_target(state, call, node);
  const auto project = project_at(state, node);
  if (!target || !project) {
    return stale_error();
  }
  return symlink_attr(node, project_ino((*project)->cwd, node), CacheTtl::moment, *target, state.mounted_ns);
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::projects, "projects", attr, lookup, list),
      folder_row(Kind::project, "project", project_attr, project_lookup, project_list),
      document_row<cwd_document>(Kind::project_cwd, "cwd"),
      link_row(Kind::project_alias, "project-alias", alias_attr, alias_target),
      folder_row(Kind::children, "children", children_attr, children_lookup, children_list),
  };
  return kRows;
}

}  // namespace arborfs::project_nodes

namespace arborfs::shortcut_nodes {

namespace {

/// The item of a link in by-file/ has its depth in these bits, because its target depends on it.
constexpr std::uint32_t kDepths = 1024;
static_assert(kDepths >= search::kMostQueryBytes);

/// The target of a link of this kind, relative to its folder; in by-file/ that is `depth` below the root.
std::string target_to(const CatalogView& view, Kind kind, const Session& session, std::uint32_t depth) {
  const std::string path = view.path_of(session.number());
  switch (kind) {
    case Kind::by_agent_link:
    case Kind::tag_link:
    case Kind::search_link:
      return "../../" + path;
    case Kind::file_link: {
      std::string up;
      for (std::uint32_t folder = 0; folder < depth; ++folder) {
        up += "../";
      }
      return up + path;
    }
    default:
      return "../" + path;
  }
}

std::uint32_t short_hash(std::string_view text) {
  return static_cast<std::uint32_t>(xxh64(text));
}

std::uint32_t item_of(Kind kind, std::string_view target, std::uint32_t depth) {
  const std::uint32_t hash = short_hash(target);
  return kind == Kind::file_link ? hash / kDepths * kDepths + depth : hash;
}

/// The agent of a folder in by-agent/; "" if it has no sessions any more.
std::string_view agent_of(const CatalogView& view, NodeId folder) {
  for (const auto& [agent, places] : view.by_agent) {
    if (short_hash(agent) == folder.item()) {
      return agent;
    }
  }
  return "";
}

Kind link_kind(Kind folder) {
  switch (folder) {
    case Kind::by_id:
      return Kind::by_id_link;
    case Kind::agent:
      return Kind::by_agent_link;
    case Kind::recent:
      return Kind::recent_link;
    case Kind::tag:
      return Kind::tag_link;
    default:
      return Kind::terminal_link;
  }
}

Result<std::vector<NamedSession>> terminals_now(MountState& state, RequestContext& call) {
  return beside_hanging<std::vector<NamedSession>>(state, call, [&catalog = state.catalog](const Hanging& hanging) {
    return Result<std::vector<NamedSession>>(catalog.terminals(hanging));
  });
}

using Items = std::vector<NamesSnapshot::Item>;

void add_link(MountState& state, const CatalogView& view, Kind kind, std::string name, const Session& session,
              Items& items) {
  items.push_back({std::move(name), {link_node(state, view, kind, session), CacheTtl::moment}, std::nullopt});
}

/// Adds links to sessions under the names that they have everywhere.
void add_links(MountState& state, const CatalogView& view, Kind kind, const std::vector<SessionPtr>& sessions,
               Items& items) {
  items.reserve(items.size() + sessions.size());
  std::unordered_set<std::string> taken;
  for (const auto& session : sessions) {
    if (const auto at = view.where.find(session->number()); at != view.where.end()) {
      add_link(state, view, kind, unique_name(at->second.name(), taken), *session, items);
    }
  }
}

ListingPtr listing_of(Items items, const CatalogView& view) {
  return std::make_shared<NamesSnapshot>(std::move(items), view.version);
}

Result<Child> link_to(MountState& state, const CatalogView& view, NodeId folder, const SessionPtr& session,
                      CacheTtl life = CacheTtl::moment) {
  return session ? Result<Child>(Child{link_node(state, view, link_kind(folder.kind()), *session), life})
                 : Result<Child>(no_such_name());
}

}  // namespace

NodeId agent_folder(std::string_view agent) {
  return {Kind::agent, 0, short_hash(agent)};
}

/// The kernel caches the targets of symlinks, so another target needs another node.
NodeId link_node(MountState& state, const CatalogView& view, Kind kind, const Session& session, std::uint32_t depth) {
  return {kind, state.slots.slot_of(session.number(), 0), item_of(kind, target_to(view, kind, session, depth), depth)};
}

namespace {

Result<Child> agents_lookup(MountState& state, RequestContext& /*call*/, NodeId /*node*/, std::string_view name) {
  return state.catalog.view()->by_agent.contains(name) ? Result<Child>(Child{agent_folder(name), CacheTtl::moment})
                                                       : Result<Child>(no_such_name());
}

Result<ListingPtr> agents_list(MountState& state, RequestContext& /*call*/, NodeId /*node*/) {
  std::vector<NamesSnapshot::Item> items;
  const auto view = state.catalog.view();
  for (const auto& [agent, places] : view->by_agent) {
    items.push_back({std::string(agent), {agent_folder(agent), CacheTtl::moment}, std::nullopt});
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

Result<Attr> agent_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  const auto view = state.catalog.view();
  const std::string_view agent = agent_of(*view, node);
  if (agent.empty()) {
    return stale_error();
  }
  return directory_attr(node, stable_ino(0, word_of(node), agent), state.view_time(*view));
}

}  // namespace

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  std::int64_t time = state.view_time(*state.catalog.view());
  if (node.kind() == Kind::recent) {
    for (const auto& session : state.catalog.recent(1)) {
      time = std::max(time, session->mtime_ns());
    }
  }
  return directory_attr(node, stable_ino(0, word_of(node)), time);
}

namespace {

Result<Child> by_id_lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  const auto view = state.catalog.view();
  return link_to(state, *view, node, view->by_id_prefix(name));
}

Result<ListingPtr> by_id_list(MountState& state, RequestContext& /*call*/, NodeId /*node*/) {
  Items items;
  const auto view = state.catalog.view();
  items.reserve(view->by_id.size());
  for (const auto& [name, session] : view->by_id) {
    add_link(state, *view, Kind::by_id_link, name, *session, items);
  }
  return listing_of(std::move(items), *view);
}

Result<Child> agent_lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  const auto view = state.catalog.view();
  const std::string_view agent = agent_of(*view, node);
  const auto named = view->named(name);
  return link_to(state, *view, node, named && named->agent() == agent ? named : view->by_id_prefix(name, agent));
}

Result<ListingPtr> agent_list(MountState& state, RequestContext& /*call*/, NodeId node) {
  Items items;
  const auto view = state.catalog.view();
  std::vector<SessionPtr> sessions;
  if (const auto members = view->by_agent.find(agent_of(*view, node)); members != view->by_agent.end()) {
    for (const std::uint32_t at : members->second) {
      sessions.push_back(view->by_id[at].second);
    }
  }
  std::erase_if(sessions, [&](const SessionPtr& session) { return view->is_child(session->number()); });
  add_links(state, *view, Kind::by_agent_link, sessions, items);
  return listing_of(std::move(items), *view);
}

/// The number that the name consists of.
std::optional<std::size_t> whole_number(std::string_view name) {
  std::size_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

/// Resolves more than it lists: a session's place in the listing, counted from 1, and the names of sessions that are
/// not among the last, or had them before.
Result<Child> recent_lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  const auto view = state.catalog.view();
  if (const auto place = whole_number(name)) {
    const auto sessions = state.catalog.recent();
    return link_to(state, *view, node, *place >= 1 && *place <= sessions.size() ? sessions[*place - 1] : nullptr);
  }
  const auto session = view->named(name);
  return link_to(state, *view, node, session && !view->is_child(session->number()) ? session : nullptr);
}

/// Newest first; of equal ones that with the lesser name, as `ls -t` does.
Result<ListingPtr> recent_list(MountState& state, RequestContext& /*call*/, NodeId /*node*/) {
  Items items;
  const auto view = state.catalog.view();
  auto newest = state.catalog.recent();
  std::vector<std::tuple<std::int64_t, std::string, SessionPtr>> rows;
  for (auto& session : newest) {
    if (const auto at = view->where.find(session->number()); at != view->where.end()) {
      rows.emplace_back(-session->mtime_ns(), at->second.name(), std::move(session));
    }
  }
  std::sort(rows.begin(), rows.end());
  newest.clear();
  std::transform(rows.begin(), rows.end(), std::back_inserter(newest), [](auto& row) { return std::get<2>(row); });
  add_links(state, *view, Kind::recent_link, newest, items);
  return listing_of(std::move(items), *view);
}

Result<Child> terminals_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto terminals, terminals_now(state, call));
  const auto row = std::find_if(terminals.begin(), terminals.end(), [&](const auto& one) { return one.name == name; });
  return link_to(state, *state.catalog.view(), node, row == terminals.end() ? nullptr : row->session);
}

Result<ListingPtr> terminals_list(MountState& state, RequestContext& call, NodeId /*node*/) {
  Items items;
  const auto view = state.catalog.view();
  ASSIGN_OR_RETURN(auto terminals, terminals_now(state, call));
  for (auto& row : terminals) {
    add_link(state, *view, Kind::terminal_link, std::move(row.name), *row.session, items);
  }
  return listing_of(std::move(items), *view);
}

Result<std::string> link_target(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  const std::uint32_t depth = node.item() % kDepths;
  std::string target = target_to(*ref.view, node.kind(), *ref.session, depth);
  return item_of(node.kind(), target, depth) == node.item() ? Result<std::string>(std::move(target))
                                                            : Result<std::string>(stale_error());
}

Result<Attr> link_attr(MountState& state, RequestContext& call, NodeId node) {
  const auto ref = session_of(state, node);
  const auto target = link_target(state, call, node);
  if (!ref || !target) {
    return stale_error();
  }
  return symlink_attr(node, stable_ino(ref->seed, word_of(node)), CacheTtl::moment, *target, ref->session->mtime_ns());
}

/// The tags that sessions have. Errors: those of Notes::of_agent.
Result<std::set<std::string, std::less<>>> shown_tags(const Catalog& catalog, const CatalogView& view) {
  std::set<std::string, std::less<>> shown;
  NotesOfAgents notes(catalog.notes());
  for (const auto& [name, session] : view.by_id) {
    const Noted::Tags of_session = tags_of(*session, notes.of(*session));
    shown.insert(of_session.begin(), of_session.end());
  }
  if (notes.problem()) {
    return *notes.problem();
  }
  return shown;
}

NodeId tag_folder(std::string_view tag) {
  return {Kind::tag, 0, short_hash(tag)};
}

Result<Child> tags_lookup(MountState& state, RequestContext& /*call*/, NodeId /*node*/, std::string_view name) {
  ASSIGN_OR_RETURN(const auto shown, shown_tags(state.catalog, *state.catalog.view()));
  return shown.contains(name) ? Result<Child>(Child{tag_folder(name), CacheTtl::glance})
                              : Result<Child>(no_such_name());
}

Result<ListingPtr> tags_list(MountState& state, RequestContext& /*call*/, NodeId /*node*/) {
  std::vector<NamesSnapshot::Item> items;
  const auto view = state.catalog.view();
  ASSIGN_OR_RETURN(const auto shown, shown_tags(state.catalog, *view));
  for (const std::string& tag : shown) {
    items.push_back({tag, {tag_folder(tag), CacheTtl::glance}, std::nullopt});
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

/// The folder stays for programs that are inside it when its last session loses the tag.
Result<Attr> tag_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, stable_ino(node.item(), word_of(node)), state.view_time(*state.catalog.view()));
}

/// True if one of the tags is that of the folder.
bool has_tag_of(const Notes::Tags& tags, NodeId folder) {
  return std::any_of(tags.begin(), tags.end(), [&](const std::string& tag) { return tag_folder(tag) == folder; });
}

Result<Child> tag_lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  const auto view = state.catalog.view();
  const auto session = view->named(name);
  if (!session) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto noted, state.catalog.noted_of(*session));
  return link_to(state, *view, node, has_tag_of(tags_of(*session, *noted), node) ? session : nullptr, CacheTtl::glance);
}

Result<ListingPtr> tag_list(MountState& state, RequestContext& /*call*/, NodeId node) {
  Items items;
  const auto view = state.catalog.view();
  std::vector<SessionPtr> sessions;
  NotesOfAgents notes(state.catalog.notes());
  for (const auto& [name, session] : view->by_id) {
    if (has_tag_of(tags_of(*session, notes.of(*session)), node)) {
      sessions.push_back(session);
    }
  }
  if (notes.problem()) {
    return *notes.problem();
  }
  add_links(state, *view, Kind::tag_link, sessions, items);
  return listing_of(std::move(items), *view);
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::tags, "tags", attr, tags_lookup, tags_list),
      folder_row(Kind::tag, "tag", tag_attr, tag_lookup, tag_list),
      link_row(Kind::tag_link, "tag-link", link_attr, link_target),
      folder_row(Kind::recent, "recent", attr, recent_lookup, recent_list),
      folder_row(Kind::by_id, "by-id", attr, by_id_lookup, by_id_list),
      folder_row(Kind::by_agent, "by-agent", attr, agents_lookup, agents_list),
      folder_row(Kind::terminals, "terminals", attr, terminals_lookup, terminals_list),
      folder_row(Kind::agent, "agent", agent_attr, agent_lookup, agent_list),
      link_row(Kind::by_id_link, "by-id-link", link_attr, link_target),
      link_row(Kind::by_agent_link, "by-agent-link", link_attr, link_target),
      link_row(Kind::recent_link, "recent-link", link_attr, link_target),
      link_row(Kind::search_link, "search-link", link_attr, link_target),
      link_row(Kind::file_link, "file-link", link_attr, link_target),
      link_row(Kind::terminal_link, "terminal-link", link_attr, link_target),
  };
  return kRows;
}

}  // namespace arborfs::shortcut_nodes
