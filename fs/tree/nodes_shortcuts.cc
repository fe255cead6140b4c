#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "fs/tree/nodes.h"

namespace arborfs::shortcut_nodes {

namespace {

std::string target_to(const CatalogView& view, const Session& session) {
  return "../" + shown_path(view, session);
}

/// The kernel caches the targets of symlinks, so another target needs another node.
std::uint32_t item_of(const std::string& target) {
  return static_cast<std::uint32_t>(xxh64(target));
}

NodeId link_node(MountState& state, const CatalogView& view, Kind kind, const Session& session) {
  return {kind, state.slots.slot_of(session.number(), 0), item_of(target_to(view, session))};
}

std::vector<NamedSession> sessions_of(const MountState& state, Kind folder) {
  return folder == Kind::recent ? state.catalog.recent() : state.catalog.terminals();
}

Kind link_kind(Kind folder) {
  return folder == Kind::recent ? Kind::recent_link : Kind::terminal_link;
}

}  // namespace

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  std::int64_t time = state.view_time(*state.catalog.view());
  if (node.kind() == Kind::recent) {
    for (const auto& row : state.catalog.recent(1)) {
      time = std::max(time, row.session->mtime_ns());
    }
  }
  return directory_attr(node, stable_ino(0, word_of(node)), time);
}

Result<Child> lookup(MountState& state, RequestContext& /*call*/, NodeId node, std::string_view name) {
  const auto view = state.catalog.view();
  if (node.kind() == Kind::by_id) {
    const auto session = view->by_id_prefix(name);
    return session ? Result<Child>(Child{link_node(state, *view, Kind::by_id_link, *session), CacheTtl::moment})
                   : Result<Child>(no_such_name());
  }
  for (const auto& row : sessions_of(state, node.kind())) {
    if (row.name == name) {
      return Child{link_node(state, *view, link_kind(node.kind()), *row.session), CacheTtl::moment};
    }
  }
  return no_such_name();
}

Result<ListingPtr> list(MountState& state, RequestContext& /*call*/, NodeId node) {
  std::vector<NamesSnapshot::Item> items;
  const auto view = state.catalog.view();
  if (node.kind() == Kind::by_id) {
    items.reserve(view->by_id.size());
    for (const auto& [name, session] : view->by_id) {
      items.push_back({name, {link_node(state, *view, Kind::by_id_link, *session), CacheTtl::moment}, std::nullopt});
    }
  } else {
    for (auto& row : sessions_of(state, node.kind())) {
      const NodeId link = link_node(state, *view, link_kind(node.kind()), *row.session);
      items.push_back({std::move(row.name), {link, CacheTtl::moment}, std::nullopt});
    }
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), view->version));
}

Result<std::string> link_target(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  std::string target = target_to(*ref.view, *ref.session);
  return item_of(target) == node.item() ? Result<std::string>(std::move(target)) : Result<std::string>(stale_error());
}

Result<Attr> link_attr(MountState& state, RequestContext& call, NodeId node) {
  const auto ref = session_of(state, node);
  const auto target = link_target(state, call, node);
  if (!ref || !target) {
    return stale_error();
  }
  return symlink_attr(node, stable_ino(ref->seed, word_of(node)), CacheTtl::moment, *target, ref->session->mtime_ns());
}

}  // namespace arborfs::shortcut_nodes
