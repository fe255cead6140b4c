#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/entry/names.h"
#include "fs/nodes/node_table.h"

namespace arborfs::project_nodes {

namespace {

constexpr std::string_view kCwdName = "cwd";
constexpr std::string_view kByTitleName = "by-title";

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

/// The session with this name, or a link to the one that has it as its native name.
Result<Child> child_of(MountState& state, const CatalogView& view, const SessionFolder& folder, std::string_view name) {
  const auto session = folder.find(name);
  if (const auto native = session ? nullptr : folder.find_native(name)) {
    return Child{shortcut_nodes::link_node(state, view, Kind::session_alias, *native), CacheTtl::moment};
  }
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
  if (name == kByTitleName) {
    return Child{NodeId(Kind::by_title, 0, node.item()), CacheTtl::forever};
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
  items.push_back(
      {std::string(kByTitleName), {NodeId(Kind::by_title, 0, node.item()), CacheTtl::forever}, std::nullopt});
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

/// The target of a link of this kind, relative to its folder.
std::string target_to(const CatalogView& view, Kind kind, const Session& session) {
  const std::string path = view.path_of(session.number());
  switch (kind) {
    case Kind::session_alias:
      return path.substr(path.rfind('/') + 1);
    case Kind::by_title_link:
      return ".." + path.substr(path.rfind('/'));
    case Kind::by_agent_link:
    case Kind::tag_link:
    case Kind::search_link:
      return "../../" + path;
    default:
      return "../" + path;
  }
}

std::uint32_t short_hash(std::string_view text) {
  return static_cast<std::uint32_t>(xxh64(text));
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

bool is_by_id(NodeId folder) {
  return folder.kind() == Kind::by_id || folder.kind() == Kind::agent;
}

Kind link_kind(Kind folder) {
  switch (folder) {
    case Kind::by_id:
      return Kind::by_id_link;
    case Kind::agent:
      return Kind::by_agent_link;
    default:
      return Kind::terminal_link;
  }
}

/// The session that a name in by-id/ or in an agent's folder means.
SessionPtr by_id(const CatalogView& view, NodeId folder, std::string_view name) {
  return folder.kind() == Kind::by_id ? view.by_id_prefix(name) : view.by_id_prefix(name, agent_of(view, folder));
}

Result<std::vector<NamedSession>> terminals_now(MountState& state, RequestContext& call) {
  return beside_hanging<std::vector<NamedSession>>(state, call, [&catalog = state.catalog](const Hanging& hanging) {
    return Result<std::vector<NamedSession>>(catalog.terminals(hanging));
  });
}

/// Adds a link to a session by its id.
void add_by_id(MountState& state, const CatalogView& view, Kind kind, std::size_t at,
               std::vector<NamesSnapshot::Item>& items) {
  const auto& [name, session] = view.by_id[at];
  items.push_back({name, {link_node(state, view, kind, *session), CacheTtl::moment}, std::nullopt});
}

}  // namespace

NodeId agent_folder(std::string_view agent) {
  return {Kind::agent, 0, short_hash(agent)};
}

/// The kernel caches the targets of symlinks, so another target needs another node.
NodeId link_node(MountState& state, const CatalogView& view, Kind kind, const Session& session) {
  return {kind, state.slots.slot_of(session.number(), 0), short_hash(target_to(view, kind, session))};
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

Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  const auto view = state.catalog.view();
  if (is_by_id(node)) {
    const auto session = by_id(*view, node, name);
    return session ? Result<Child>(Child{link_node(state, *view, link_kind(node.kind()), *session), CacheTtl::moment})
                   : Result<Child>(no_such_name());
  }
  ASSIGN_OR_RETURN(const auto terminals, terminals_now(state, call));
  for (const auto& row : terminals) {
    if (row.name == name) {
      return Child{link_node(state, *view, link_kind(node.kind()), *row.session), CacheTtl::moment};
    }
  }
  return no_such_name();
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  std::vector<NamesSnapshot::Item> items;
  const auto view = state.catalog.view();
  if (node.kind() == Kind::by_id) {
    items.reserve(view->by_id.size());
    for (std::size_t at = 0; at < view->by_id.size(); ++at) {
      add_by_id(state, *view, Kind::by_id_link, at, items);
    }
  } else if (node.kind() == Kind::agent) {
    const auto members = view->by_agent.find(agent_of(*view, node));
    for (const std::uint32_t at : members == view->by_agent.end() ? std::vector<std::uint32_t>() : members->second) {
      if (!view->is_child(view->by_id[at].second->number())) {
        add_by_id(state, *view, Kind::by_agent_link, at, items);
      }
    }
  } else {
    ASSIGN_OR_RETURN(auto terminals, terminals_now(state, call));
    for (auto& row : terminals) {
      const NodeId link = link_node(state, *view, link_kind(node.kind()), *row.session);
      items.push_back({std::move(row.name), {link, CacheTtl::moment}, std::nullopt});
    }
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

Result<std::string> link_target(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  std::string target = target_to(*ref.view, node.kind(), *ref.session);
  return short_hash(target) == node.item() ? Result<std::string>(std::move(target))
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
  const auto found = std::lower_bound(view->by_id.begin(), view->by_id.end(), name,
                                      [](const auto& row, std::string_view wanted) { return row.first < wanted; });
  if (found == view->by_id.end() || found->first != name) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto noted, state.catalog.noted_of(*found->second));
  return has_tag_of(tags_of(*found->second, *noted), node)
             ? Result<Child>(Child{link_node(state, *view, Kind::tag_link, *found->second), CacheTtl::glance})
             : Result<Child>(no_such_name());
}

Result<ListingPtr> tag_list(MountState& state, RequestContext& /*call*/, NodeId node) {
  std::vector<NamesSnapshot::Item> items;
  const auto view = state.catalog.view();
  NotesOfAgents notes(state.catalog.notes());
  for (std::uint32_t at = 0; at < view->by_id.size(); ++at) {
    const Session& session = *view->by_id[at].second;
    if (has_tag_of(tags_of(session, notes.of(session)), node)) {
      add_by_id(state, *view, Kind::tag_link, at, items);
    }
  }
  if (notes.problem()) {
    return *notes.problem();
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::tags, "tags", attr, tags_lookup, tags_list),
      folder_row(Kind::tag, "tag", tag_attr, tag_lookup, tag_list),
      link_row(Kind::tag_link, "tag-link", link_attr, link_target),
      folder_row(Kind::by_id, "by-id", attr, lookup, list),
      folder_row(Kind::by_agent, "by-agent", attr, agents_lookup, agents_list),
      folder_row(Kind::terminals, "terminals", attr, lookup, list),
      folder_row(Kind::agent, "agent", agent_attr, lookup, list),
      link_row(Kind::session_alias, "session-alias", link_attr, link_target),
      link_row(Kind::by_title_link, "by-title-link", link_attr, link_target),
      link_row(Kind::by_id_link, "by-id-link", link_attr, link_target),
      link_row(Kind::by_agent_link, "by-agent-link", link_attr, link_target),
      link_row(Kind::recent_link, "recent-link", link_attr, link_target),
      link_row(Kind::search_link, "search-link", link_attr, link_target),
      link_row(Kind::terminal_link, "terminal-link", link_attr, link_target),
  };
  return kRows;
}

}  // namespace arborfs::shortcut_nodes

namespace arborfs::title_nodes {

namespace {

/// Reads the first messages that the names of these sessions need. A log in a submount that hangs is not read: its
/// session keeps the name that it has.
Result<void> read_first_messages(MountState& state, RequestContext& call, const std::vector<SessionPtr>& sessions) {
  std::vector<SessionPtr> to_read;
  std::copy_if(sessions.begin(), sessions.end(), std::back_inserter(to_read),
               [&](const SessionPtr& session) { return state.slugs.needs_log(*session); });
  if (to_read.empty()) {
    return {};
  }
  if (!call.may_take_long()) {
    return call.defer();
  }
  const auto read = [&state, to_read](const Hanging& hanging) -> Result<bool> {
    auto answering = to_read;
    std::erase_if(answering, [&](const SessionPtr& session) { return state.catalog.is_in(*session, hanging); });
    RETURN_IF_ERROR(state.slugs.read(answering));
    return true;
  };
  RETURN_IF_ERROR(beside_hanging<bool>(state, call, read));
  return {};
}

/// The sessions of the project with their names; none if the project is gone.
Result<std::vector<NamedSession>> named_sessions(MountState& state, RequestContext& call, const CatalogView& view,
                                                 std::uint32_t number) {
  std::vector<SessionPtr> sessions;
  if (const auto project = view.project(number)) {
    for (const auto& [name, session] : project->sessions) {
      sessions.push_back(session);
    }
  }
  RETURN_IF_ERROR(read_first_messages(state, call, sessions));
  return state.titles.name(number, view, sessions);
}

/// The sessions of recent/ with their names, newest first; of equal ones that with the lesser name, as `ls -t` does.
Result<std::vector<NamedSession>> recent_sessions(MountState& state, RequestContext& call, const CatalogView& view) {
  const auto sessions = state.catalog.recent();
  RETURN_IF_ERROR(read_first_messages(state, call, sessions));
  auto named = state.recents.name(LinkNames::kOfAll, view, sessions);
  std::vector<std::pair<std::int64_t, NamedSession>> rows;
  for (auto& one : named) {
    const std::int64_t time = one.session->mtime_ns();
    rows.emplace_back(time, std::move(one));
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.name < b.second.name;
  });
  std::transform(rows.begin(), rows.end(), named.begin(), [](auto& row) { return std::move(row.second); });
  return named;
}

/// The session with this place in recent/, counted from 1; null if there is none.
SessionPtr recent_at(const Catalog& catalog, std::size_t place) {
  const auto sessions = catalog.recent();
  return place >= 1 && place <= sessions.size() ? sessions[place - 1] : nullptr;
}

/// The number that the name consists of.
std::optional<std::size_t> whole_number(std::string_view name) {
  std::size_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

Result<Child> child_of(MountState& state, const CatalogView& view, Kind link, const SessionPtr& session) {
  return session ? Result<Child>(Child{shortcut_nodes::link_node(state, view, link, *session), CacheTtl::moment})
                 : Result<Child>(no_such_name());
}

ListingPtr listing_of(MountState& state, const CatalogView& view, Kind link, std::vector<NamedSession> named) {
  std::vector<NamesSnapshot::Item> items;
  items.reserve(named.size());
  for (auto& [name, session] : named) {
    const NodeId node = shortcut_nodes::link_node(state, view, link, *session);
    items.push_back({std::move(name), {node, CacheTtl::moment}, std::nullopt});
  }
  return std::make_shared<NamesSnapshot>(std::move(items), view.version);
}

/// The times are those of the project.
Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto project, project_nodes::project_attr(state, call, NodeId(Kind::project, 0, node.item())));
  const auto cwd = state.catalog.cwd_of_project(node.item());
  return directory_attr(node, stable_ino(0, word_of(node), cwd.value_or("")), project.mtime_ns);
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  const auto view = state.catalog.view();
  auto session = state.titles.find(node.item(), *view, name);
  if (!session) {
    ASSIGN_OR_RETURN(const auto named, named_sessions(state, call, *view, node.item()));
    session = state.titles.find(node.item(), *view, name);
  }
  return child_of(state, *view, Kind::by_title_link, session);
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  const auto view = state.catalog.view();
  ASSIGN_OR_RETURN(auto named, named_sessions(state, call, *view, node.item()));
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return listing_of(state, *view, Kind::by_title_link, std::move(named));
}

/// Resolves more than it lists: a session's place in the listing, and names that it had before.
Result<Child> recent_lookup(MountState& state, RequestContext& call, NodeId /*node*/, std::string_view name) {
  const auto view = state.catalog.view();
  if (const auto place = whole_number(name)) {
    return child_of(state, *view, Kind::recent_link, recent_at(state.catalog, *place));
  }
  auto session = state.recents.find(LinkNames::kOfAll, *view, name);
  if (!session) {
    ASSIGN_OR_RETURN(const auto named, recent_sessions(state, call, *view));
    session = state.recents.find(LinkNames::kOfAll, *view, name);
  }
  return child_of(state, *view, Kind::recent_link, session);
}

Result<ListingPtr> recent_list(MountState& state, RequestContext& call, NodeId /*node*/) {
  const auto view = state.catalog.view();
  ASSIGN_OR_RETURN(auto named, recent_sessions(state, call, *view));
  return listing_of(state, *view, Kind::recent_link, std::move(named));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::recent, "recent", shortcut_nodes::attr, recent_lookup, recent_list),
      folder_row(Kind::by_title, "by-title", attr, lookup, list),
  };
  return kRows;
}

}  // namespace arborfs::title_nodes
