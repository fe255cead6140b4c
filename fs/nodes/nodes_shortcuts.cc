#include <array>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "fs/nodes/node_families.h"

namespace arborfs::shortcut_nodes {

namespace {

/// The target of a link of this kind, relative to its folder.
std::string target_to(const CatalogView& view, Kind kind, const Session& session) {
  const std::string path = shown_path(view, session);
  switch (kind) {
    case Kind::session_alias:
      return path.substr(path.rfind('/') + 1);
    case Kind::by_title_link:
      return ".." + path.substr(path.rfind('/'));
    case Kind::by_agent_link:
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
  return beside_hanging<std::vector<NamedSession>>(
      state, call, [&catalog = state.catalog](const Hanging& hanging, const auto* /*cancelled*/) {
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

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
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
