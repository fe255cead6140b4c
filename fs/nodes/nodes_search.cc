#include <array>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/search/query.h"
#include "core/search/search.h"
#include "fs/nodes/node_families.h"

namespace arborfs::search_nodes {

namespace {

using search::SearchLinks;
using search::SearchResult;
using search::SearchResultPtr;

constexpr std::string_view kExcerptsName = "excerpts.md";
constexpr std::string_view kHitsName = "hits.json";
/// How long the names that a listing gave lead to its sessions, whatever has changed: a reader needs time for them.
constexpr std::chrono::seconds kNamesLast = search::RecentSearches::kFormer;

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

SnapshotPtr document_of(MountState& state, const SearchResult& result, Kind kind) {
  const NodeId node = file_node(kind, result);
  if (auto known = state.documents.find(node)) {
    return known;
  }
  const auto query = state.searches.text_of(node.slot());
  const std::string& text = text_of(result, node);
  const Attr attr{node,           stable_ino(0, word_of(node), query.value_or("")),
                  FileType::file, CacheTtl::forever,
                  text.size(),    result.made_ns};
  return state.documents.put_recent(literal_document(attr, text), false);
}

/// As for stats/: the document of a file's node, which is over when the result is another one or this mount has
/// written.
Result<SnapshotPtr> document_for(MountState& state, RequestContext& call, NodeId node) {
  auto result = state.searches.known(node.slot());
  const bool is_right =
      result && result->version == node.item() &&
      (!state.written_since(0, result->begun) || state.searches.fresh(state.catalog, node.slot()) != nullptr);
  if (!is_right) {
    if (auto known = just_looked_up(state, call, node, 0)) {
      return known;
    }
    ASSIGN_OR_RETURN(result, found_now(state, call, node.slot()));
  }
  return result->version == node.item() ? Result<SnapshotPtr>(document_of(state, *result, node.kind()))
                                        : Result<SnapshotPtr>(stale_error());
}

/// True for the form of a link's name: its rank, '-' and more.
bool is_link_name(std::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits != std::string_view::npos && digits >= 2 && name[digits] == '-';
}

/// The link of this name, if it is among these and its session is still there.
std::optional<Child> link_named(MountState& state, const SearchLinks& links, std::string_view name) {
  const auto view = state.catalog.view();
  for (const auto& [link, number] : links) {
    const auto session = link == name ? view->session(number) : nullptr;
    if (session) {
      return Child{shortcut_nodes::link_node(state, *view, Kind::search_link, *session), CacheTtl::glance};
    }
  }
  return std::nullopt;
}

Result<Child> link_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  const auto now = std::chrono::steady_clock::now();
  const auto last = state.searches.known(node.item());
  if (last && now - last->ended < kNamesLast) {
    if (const auto child = link_named(state, last->report.links, name)) {
      return *child;
    }
  }
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node.item()));
  if (const auto child = link_named(state, result->report.links, name)) {
    return *child;
  }
  for (const auto& [links, when] : result->former) {
    const auto child = now - when < kNamesLast ? link_named(state, *links, name) : std::nullopt;
    if (child) {
      return *child;
    }
  }
  return no_such_name();
}

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
  const SnapshotPtr document = document_of(state, *result, kind);
  return Child{document->attr.node, CacheTtl::glance, document->attr};
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

Result<Attr> file_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto document, document_for(state, call, node));
  return document->attr;
}

Result<OpenFilePtr> file_open(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(auto document, document_for(state, call, node));
  return OpenFilePtr(std::make_shared<SnapshotFile>(std::move(document)));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::search, "search", attr, lookup, list),
      folder_row(Kind::search_query, "search-query", query_attr, query_lookup, query_list),
      file_row(Kind::search_excerpts, "search-excerpts", file_attr, file_open),
      file_row(Kind::search_hits, "search-hits", file_attr, file_open),
  };
  return kRows;
}

}  // namespace arborfs::search_nodes
