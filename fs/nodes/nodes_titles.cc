#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "fs/nodes/nodes.h"

namespace arborfs::title_nodes {

namespace {

/// Reads the first messages that the names of these sessions need. A log in a submount, which may hang, is not read:
/// its session is named by its title alone.
Result<void> read_first_messages(MountState& state, RequestContext& call, const std::vector<SessionPtr>& sessions) {
  std::vector<SessionPtr> to_read;
  for (const auto& session : sessions) {
    const bool may_hang = state.catalog.has_submounts() && state.catalog.is_submount(session->place().in());
    if (!may_hang && state.slugs.needs_log(*session)) {
      to_read.push_back(session);
    }
  }
  if (to_read.empty()) {
    return {};
  }
  return call.may_take_long() ? state.slugs.read(to_read) : Result<void>(call.defer());
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

NodeId link_to(MountState& state, const CatalogView& view, const Session& session) {
  return shortcut_nodes::link_node(state, view, Kind::by_title_link, session);
}

}  // namespace

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
  return session ? Result<Child>(Child{link_to(state, *view, *session), CacheTtl::moment})
                 : Result<Child>(no_such_name());
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  const auto view = state.catalog.view();
  ASSIGN_OR_RETURN(auto named, named_sessions(state, call, *view, node.item()));
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::vector<NamesSnapshot::Item> items;
  items.reserve(named.size());
  for (auto& [name, session] : named) {
    items.push_back({std::move(name), {link_to(state, *view, *session), CacheTtl::moment}, std::nullopt});
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

}  // namespace arborfs::title_nodes
