#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "core/base/result_macros.h"
#include "fs/nodes/node_families.h"

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
  const auto read = [&state, to_read](const Hanging& hanging, const auto* /*cancelled*/) -> Result<bool> {
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
