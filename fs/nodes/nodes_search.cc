#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/search/query/query.h"
#include "core/search/query_checks.h"
#include "fs/nodes/nodes.h"

namespace arborfs::search_nodes {

namespace {

using search::SearchResult;
using search::SearchResultPtr;

constexpr std::string_view kExcerptsName = "excerpts.md";
constexpr std::string_view kHitsName = "hits.json";
/// How long the names that a listing gave lead to its sessions, whatever has changed: a reader needs time for them.
constexpr std::chrono::seconds kNamesLast{10};

bool is_excerpts(NodeId node) {
  return node.kind() == Kind::search_excerpts;
}

const std::string& text_of(const SearchResult& result, NodeId node) {
  return is_excerpts(node) ? result.report.excerpts : result.report.hits;
}

NodeId file_node(Kind kind, const SearchResult& result) {
  return {kind, result.query, result.version};
}

/// Refuses an agent that is not there. The log gets the reason without the words of the query.
Result<void> check_agent(const MountState& state, const search::Query& query) {
  auto checked = search::check_agent(state.catalog, query);
  if (!checked) {
    write_log(LogLevel::info, "a search names an agent of which no store is open");
  }
  return checked;
}

/// The current result of the query. Searching moves the request to a pool of its own (Vfs::reads_all_sessions).
Result<SearchResultPtr> found_now(MountState& state, RequestContext& call, std::uint32_t query) {
  if (auto result = state.searches.fresh(state.catalog, query)) {
    return result;
  }
  if (!call.may_take_long()) {
    return call.defer();
  }
  return state.searches.search(state.catalog, query, call.cancelled());
}

/// The result from which a file's node was made. A write by this mount makes it stale, so that the name is looked up
/// again.
Result<SearchResultPtr> found_for(MountState& state, NodeId node) {
  auto result = state.searches.known(node.slot());
  const bool is_right =
      result && result->version == node.item() &&
      (!state.written_since(0, result->begun) || state.searches.fresh(state.catalog, node.slot()) != nullptr);
  return is_right ? Result<SearchResultPtr>(std::move(result)) : Result<SearchResultPtr>(stale_error());
}

/// True for the form of a link's name: its rank, '-' and more.
bool is_link_name(std::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits != std::string_view::npos && digits >= 2 && name[digits] == '-';
}

/// The link of this name, if the result has it and its session is still there.
std::optional<Child> link_named(MountState& state, const SearchResult& result, std::string_view name) {
  const auto view = state.catalog.view();
  for (const auto& [link, number] : result.report.links) {
    const auto session = link == name ? view->session(number) : nullptr;
    if (session) {
      return Child{shortcut_nodes::link_node(state, *view, Kind::search_link, *session), CacheTtl::glance};
    }
  }
  return std::nullopt;
}

Result<Child> link_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  const auto last = state.searches.known(node.item());
  if (last && std::chrono::steady_clock::now() - last->ended < kNamesLast) {
    if (const auto child = link_named(state, *last, name)) {
      return *child;
    }
  }
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node.item()));
  const auto child = link_named(state, *result, name);
  return child ? Result<Child>(*child) : Result<Child>(no_such_name());
}

}  // namespace

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, stable_ino(0, word_of(node)), state.mounted_ns);
}

Result<Child> lookup(MountState& state, RequestContext& /*call*/, NodeId /*node*/, std::string_view name) {
  const auto query = search::parse_query(name);
  const bool is_query = !name.starts_with('.') && query;
  if (is_query) {
    RETURN_IF_ERROR(check_agent(state, *query));
  }
  const std::uint32_t number = is_query ? state.searches.number_of(name) : 0;
  return number != 0 ? Result<Child>(Child{NodeId(Kind::search_query, 0, number), CacheTtl::moment})
                     : Result<Child>(no_such_name());
}

/// Queries are not listed, so that a program that walks the mount does not search.
Result<ListingPtr> list(MountState& /*state*/, RequestContext& /*call*/, NodeId /*node*/) {
  return ListingPtr(std::make_shared<NamesSnapshot>(std::vector<NamesSnapshot::Item>(), 0));
}

Result<Attr> query_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  const auto text = state.searches.text_of(node.item());
  return text ? Result<Attr>(
                    directory_attr(node, stable_ino(0, word_of(node), *text), state.view_time(*state.catalog.view())))
              : Result<Attr>(stale_error());
}

Result<Child> query_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  if (is_link_name(name)) {
    return link_lookup(state, call, node, name);
  }
  if (name != kExcerptsName && name != kHitsName) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node.item()));
  const Kind kind = name == kExcerptsName ? Kind::search_excerpts : Kind::search_hits;
  return Child{file_node(kind, *result), CacheTtl::glance};
}

Result<ListingPtr> query_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node.item()));
  const auto view = state.catalog.view();
  std::vector<NamesSnapshot::Item> items;
  items.reserve(result->report.links.size() + 2);
  items.push_back(
      {std::string(kExcerptsName), {file_node(Kind::search_excerpts, *result), CacheTtl::glance}, std::nullopt});
  items.push_back({std::string(kHitsName), {file_node(Kind::search_hits, *result), CacheTtl::glance}, std::nullopt});
  for (const auto& [name, number] : result->report.links) {
    if (const auto session = view->session(number)) {
      const NodeId link = shortcut_nodes::link_node(state, *view, Kind::search_link, *session);
      items.push_back({name, {link, CacheTtl::glance}, std::nullopt});
    }
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), result->version));
}

Result<Attr> file_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto result, found_for(state, node));
  const auto query = state.searches.text_of(node.slot());
  return Attr{node,
              stable_ino(0, word_of(node), query.value_or("")),
              FileType::file,
              CacheTtl::forever,
              text_of(*result, node).size(),
              result->made_ns};
}

Result<OpenFilePtr> file_open(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto attr, file_attr(state, call, node));
  ASSIGN_OR_RETURN(const auto result, found_for(state, node));
  return OpenFilePtr(
      std::make_shared<SnapshotFile>(state.documents.put(literal_document(attr, text_of(*result, node)), false)));
}

}  // namespace arborfs::search_nodes
