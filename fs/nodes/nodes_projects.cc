#include <array>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/render/names.h"
#include "fs/nodes/node_families.h"

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

std::string cwd_text(const Project& project) {
  return project.cwd.empty() ? "" : names::without_controls(project.cwd) + "\n";
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

Result<Attr> cwd_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto project, project_at(state, node));
  const std::uint64_t size = cwd_text(*project).size();
  return Attr{node, project_ino(project->cwd, node), FileType::file, CacheTtl::forever, size, state.mounted_ns};
}

Result<OpenFilePtr> cwd_open(MountState& state, RequestContext& call, NodeId node) {
  const auto attr = cwd_attr(state, call, node);
  const auto project = project_at(state, node);
  if (!attr || !project) {
    return stale_error();
  }
  return OpenFilePtr(
      std::make_shared<SnapshotFile>(state.documents.put(literal_document(*attr, cwd_text(**project)), false)));
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
      file_row(Kind::project_cwd, "cwd", cwd_attr, cwd_open),
      link_row(Kind::project_alias, "project-alias", alias_attr, alias_target),
      folder_row(Kind::children, "children", children_attr, children_lookup, children_list),
  };
  return kRows;
}

}  // namespace arborfs::project_nodes
