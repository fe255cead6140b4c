#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/search/query.h"
#include "core/search/search.h"
#include "core/views/history.h"
#include "core/views/stats.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

namespace {

/// The fresh result, or a new one, for which the request moves to where it may take long.
template <class ResultPtr, class Make>
Result<ResultPtr> made_now(RequestContext& call, ResultPtr fresh, Make make) {
  if (fresh) {
    return fresh;
  }
  return call.may_take_long() ? make() : Result<ResultPtr>(call.defer());
}

/// The document of a file's node, which is made from a result over all sessions. It is over when the result is another
/// one, and a write by this mount makes it stale, so that the name is looked up again. While programs write all the
/// time, that happens between each lookup and its open: then the document that was just looked up counts, and if this
/// mount wrote, a result that is still the same. `known` is the last result, `fresh` returns it if it is still right.
template <class ResultPtr, class Fresh, class Now, class Document>
Result<SnapshotPtr> document_of_result(MountState& state, RequestContext& call, NodeId node, ResultPtr known,
                                       Fresh fresh, Now now, Document document) {
  const bool is_right =
      known && known->version == node.item() && (!state.written_since(0, known->begun) || fresh() != nullptr);
  if (!is_right) {
    if (auto found = just_looked_up(state, call, node, 0)) {
      return found;
    }
    ASSIGN_OR_RETURN(known, now());
  }
  return known->version == node.item() ? Result<SnapshotPtr>(document(*known)) : Result<SnapshotPtr>(stale_error());
}

}  // namespace

}  // namespace arborfs

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

/// Those that know the folder's query.
search::RecentSearches& searches_of(MountState& state, NodeId folder) {
  return folder.kind() == Kind::file_path ? state.file_searches : state.searches;
}

/// The current result of the folder's query. Searching moves the request to a pool of its own
/// (Vfs::reads_all_sessions).
Result<SearchResultPtr> found_now(MountState& state, RequestContext& call, NodeId folder) {
  search::RecentSearches& searches = searches_of(state, folder);
  return made_now(call, searches.fresh(state.catalog, folder.item()),
                  [&] { return searches.search(state.catalog, folder.item()); });
}

SnapshotPtr document_of(MountState& state, const SearchResult& result, Kind kind) {
  const NodeId node = file_node(kind, result);
  const auto query = state.searches.text_of(node.slot());
  const std::string& text = text_of(result, node);
  const Attr attr{node,           stable_ino(0, word_of(node), query.value_or("")),
                  FileType::file, CacheTtl::forever,
                  text.size(),    result.made_ns};
  return text_document(state, attr, text);
}

Result<SnapshotPtr> document_for(MountState& state, RequestContext& call, NodeId node) {
  return document_of_result(
      state, call, node, state.searches.known(node.slot()),
      [&] { return state.searches.fresh(state.catalog, node.slot()); },
      [&] { return found_now(state, call, NodeId(Kind::search_query, 0, node.slot())); },
      [&](const SearchResult& result) { return document_of(state, result, node.kind()); });
}

/// True for the form of a link's name: its rank, '-' and more.
bool is_link_name(std::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits != std::string_view::npos && digits >= 2 && name[digits] == '-';
}

constexpr std::string_view kPathFilter = "path:\"";

/// Nothing once the number means no query any more.
std::optional<std::string> path_of(const MountState& state, NodeId node) {
  const auto text = state.file_searches.text_of(node.item());
  return text ? std::optional(text->substr(kPathFilter.size(), text->size() - kPathFilter.size() - 1)) : std::nullopt;
}

/// The link to a session in the folder of a query or a path.
NodeId link_in(MountState& state, NodeId folder, const CatalogView& view, const Session& session) {
  if (folder.kind() == Kind::search_query) {
    return shortcut_nodes::link_node(state, view, Kind::search_link, session);
  }
  const std::string path = path_of(state, folder).value_or("");
  const auto parts = static_cast<std::uint32_t>(std::count(path.begin(), path.end(), '/'));
  return shortcut_nodes::link_node(state, view, Kind::file_link, session, 1 + parts);
}

/// The link of this name, if it is among these and its session is still there.
std::optional<Child> link_named(MountState& state, NodeId folder, const SearchLinks& links, std::string_view name) {
  const auto view = state.catalog.view();
  for (const auto& [link, number] : links) {
    const auto session = link == name ? view->session(number) : nullptr;
    if (session) {
      return Child{link_in(state, folder, *view, *session), CacheTtl::glance};
    }
  }
  return std::nullopt;
}

Result<Child> link_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  const auto now = std::chrono::steady_clock::now();
  const auto last = searches_of(state, node).known(node.item());
  if (last && now - last->ended < kNamesLast) {
    if (const auto child = link_named(state, node, last->report.links, name)) {
      return *child;
    }
  }
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node));
  if (const auto child = link_named(state, node, result->report.links, name)) {
    return *child;
  }
  for (const auto& [links, when] : result->former) {
    const auto child = now - when < kNamesLast ? link_named(state, node, *links, name) : std::nullopt;
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
  const std::string text = search::query_named(name);
  const auto query = search::parse_query(text);
  const bool is_query = !name.starts_with('.') && query;
  if (is_query) {
    RETURN_IF_ERROR(check_agent(state, *query));
  }
  const std::uint32_t number = is_query ? state.searches.number_of(text) : 0;
  return number != 0 ? Result<Child>(Child{NodeId(Kind::search_query, 0, number), CacheTtl::moment})
                     : Result<Child>(no_such_name());
}

/// Queries are not listed, so that a program that walks the mount does not search.
Result<ListingPtr> list(MountState& /*state*/, RequestContext& /*call*/, NodeId /*node*/) {
  return ListingPtr(std::make_shared<NamesSnapshot>(std::vector<NamesSnapshot::Item>(), 0));
}

Result<Attr> query_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  const auto text = searches_of(state, node).text_of(node.item());
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
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node));
  const Kind kind = name == kExcerptsName ? Kind::search_excerpts : Kind::search_hits;
  const SnapshotPtr document = document_of(state, *result, kind);
  return Child{document->attr.node, CacheTtl::glance, document->attr};
}

std::vector<NamesSnapshot::Item> links_of(MountState& state, NodeId folder, const SearchResult& result) {
  const auto view = state.catalog.view();
  std::vector<NamesSnapshot::Item> items;
  items.reserve(result.report.links.size() + 2);
  for (const auto& [name, number] : result.report.links) {
    if (const auto session = view->session(number)) {
      items.push_back({name, {link_in(state, folder, *view, *session), CacheTtl::glance}, std::nullopt});
    }
  }
  return items;
}

Result<ListingPtr> query_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node));
  auto items = links_of(state, node, *result);
  const auto put_first = [&](std::string_view name, Kind kind) {
    items.insert(items.begin(), {std::string(name), {file_node(kind, *result), CacheTtl::glance}, std::nullopt});
  };
  put_first(kHitsName, Kind::search_hits);
  put_first(kExcerptsName, Kind::search_excerpts);
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), result->version));
}

/// The folder of a path in by-file/, which has the links that a search for the path finds. Errors: not_found for a name
/// that no query can have.
Result<Child> path_child(MountState& state, std::string_view path) {
  const std::string text = std::string(kPathFilter) + std::string(path) + "\"";
  if (path.find('"') != std::string_view::npos || !search::parse_query(text)) {
    return no_such_name();
  }
  const std::uint32_t number = state.file_searches.number_of(text);
  return number != 0 ? Result<Child>(Child{NodeId(Kind::file_path, 0, number), CacheTtl::moment})
                     : Result<Child>(no_such_name());
}

Result<Child> by_file_lookup(MountState& state, RequestContext& /*call*/, NodeId /*node*/, std::string_view name) {
  return path_child(state, "/" + std::string(name));
}

/// A name with a rank is a link, if the search finds one of that name, else a file's.
Result<Child> path_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  if (is_link_name(name)) {
    auto link = link_lookup(state, call, node, name);
    if (link || link.error().code != Errc::not_found) {
      return link;
    }
  }
  const auto path = path_of(state, node);
  return path ? path_child(state, *path + "/" + std::string(name)) : Result<Child>(stale_error());
}

Result<ListingPtr> path_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto result, found_now(state, call, node));
  return ListingPtr(std::make_shared<NamesSnapshot>(links_of(state, node, *result), result->version));
}

}  // namespace

NodeId parent_of_path(MountState& state, NodeId node) {
  const std::string path = path_of(state, node).value_or("");
  const std::size_t slash = path.rfind('/');
  const auto parent = slash == 0 || slash == std::string::npos ? Result<Child>(no_such_name())
                                                               : path_child(state, path.substr(0, slash));
  return parent ? parent->node : NodeId(Kind::by_file, 0, 0);
}

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::search, "search", attr, lookup, list),
      folder_row(Kind::by_file, "by-file", attr, by_file_lookup, list),
      folder_row(Kind::file_path, "file-path", query_attr, path_lookup, path_list),
      folder_row(Kind::search_query, "search-query", query_attr, query_lookup, query_list),
      document_row<document_for>(Kind::search_excerpts, "search-excerpts"),
      document_row<document_for>(Kind::search_hits, "search-hits"),
  };
  return kRows;
}

}  // namespace arborfs::search_nodes

namespace arborfs::stats_nodes {

namespace {

using stats::ShownStats;
using stats::ShownStatsPtr;

std::string name_at(std::size_t at) {
  return at == stats::kStatsPage
             ? "stats.html"
             : "by-" + std::string(stats::kByNames.at(static_cast<std::size_t>(stats::kShown.at(at)))) + ".tsv";
}

NodeId file_node(std::size_t at, std::uint32_t version) {
  return {Kind::stats_file, static_cast<std::uint32_t>(at), version};
}

/// The same for all versions.
std::uint64_t ino_of(std::size_t at) {
  return stable_ino(0, word_of(file_node(at, 0)), name_at(at));
}

/// The current sums. Reading them all moves the request to a pool of its own (Vfs::reads_all_sessions).
Result<ShownStatsPtr> sums_now(MountState& state, RequestContext& call) {
  return made_now(call, state.stats.fresh(state.catalog), [&] { return state.stats.sum_up(state.catalog); });
}

SnapshotPtr document_of(MountState& state, const ShownStats& made, std::size_t at) {
  const NodeId node = file_node(at, made.version);
  const std::string& text = made.texts.at(at);
  const Attr attr{node, ino_of(at), FileType::file, CacheTtl::forever, text.size(), made.made_ns};
  return text_document(state, attr, text);
}

Result<SnapshotPtr> document_for(MountState& state, RequestContext& call, NodeId node) {
  if (node.slot() > stats::kStatsPage) {
    return stale_error();
  }
  return document_of_result(
      state, call, node, state.stats.known(), [&] { return state.stats.fresh(state.catalog); },
      [&] { return sums_now(state, call); },
      [&](const ShownStats& made) { return document_of(state, made, node.slot()); });
}

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, stable_ino(0, word_of(node)), state.mounted_ns);
}

Result<Child> child_at(MountState& state, RequestContext& call, std::size_t at) {
  ASSIGN_OR_RETURN(const auto made, sums_now(state, call));
  const SnapshotPtr document = document_of(state, *made, at);
  return Child{document->attr.node, CacheTtl::glance, document->attr};
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId /*node*/, std::string_view name) {
  for (std::size_t at = 0; at < stats::kShown.size(); ++at) {
    if (name == name_at(at)) {
      return child_at(state, call, at);
    }
  }
  return no_such_name();
}

/// Only the name, so that no log is read before a program looks it up.
NamesSnapshot::Item item_at(std::size_t at) {
  NamesSnapshot::Item item{name_at(at), {file_node(at, 0), CacheTtl::glance}, std::nullopt};
  item.brief = Attr{item.child.node, ino_of(at), FileType::file, CacheTtl::glance, 0, 0};
  return item;
}

Result<ListingPtr> list(MountState& /*state*/, RequestContext& /*call*/, NodeId /*node*/) {
  std::vector<NamesSnapshot::Item> items;
  for (std::size_t at = 0; at < stats::kShown.size(); ++at) {
    items.push_back(item_at(at));
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
}

}  // namespace

Result<Child> page_child(MountState& state, RequestContext& call) {
  return child_at(state, call, stats::kStatsPage);
}

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::stats, "stats", attr, lookup, list),
      document_row<document_for>(Kind::stats_file, "stats-file"),
  };
  return kRows;
}

}  // namespace arborfs::stats_nodes

namespace arborfs::history_nodes {

namespace {

using history::ShownDay;
using history::ShownDays;
using history::ShownDaysPtr;

constexpr std::string_view kSuffix = ".md";
constexpr std::int64_t kSecond = 1'000'000'000;

std::string name_of(const ShownDay& shown) {
  return history::name_of_day(shown.day.number) + std::string(kSuffix);
}

NodeId file_node(const ShownDay& shown) {
  return {Kind::history_file, shown.day.number, shown.version};
}

/// The same for all versions.
std::uint64_t ino_of(const ShownDay& shown) {
  return stable_ino(0, word_of(file_node(shown)), name_of(shown));
}

Attr attr_of_day(const ShownDay& shown) {
  return {file_node(shown),  ino_of(shown),  FileType::file,
          CacheTtl::forever, shown.day.size, shown.day.mtime_s * kSecond};
}

/// Calls `work`, which reads histories; fails while a store that has one hangs.
template <class T>
Result<T> while_answering(MountState& state, RequestContext& call, std::function<Result<T>()> work) {
  return beside_hanging<T>(state, call, [&state, work = std::move(work)](const Hanging& hanging) {
    for (const auto& [submount, sentence] : hanging.submounts) {
      if (state.catalog.stores().at(submount.store)->prompt_history() != nullptr) {
        return Result<T>(Errc::io, sentence);
      }
    }
    return work();
  });
}

/// The current days. Reading them moves the request to a pool of its own (Vfs::reads_all_sessions).
Result<ShownDaysPtr> days_now(MountState& state, RequestContext& call) {
  const auto days =
      while_answering<ShownDaysPtr>(state, call, [&state, may_read = call.may_take_long()]() -> Result<ShownDaysPtr> {
        const StoreSet& stores = state.catalog.stores();
        auto fresh = state.history.fresh(stores);
        return fresh || !may_read ? std::move(fresh) : state.history.read(stores);
      });
  return days && *days == nullptr ? Result<ShownDaysPtr>(call.defer()) : days;
}

/// The file of a day. A text that was not kept is read again; stale if the day has another one by now.
Result<SnapshotPtr> document_of(MountState& state, RequestContext& call, const ShownDay& shown) {
  if (auto known = state.documents.find(file_node(shown))) {
    return known;
  }
  if (shown.day.text) {
    return text_document(state, attr_of_day(shown), *shown.day.text);
  }
  if (!call.may_take_long()) {
    return call.defer();
  }
  ASSIGN_OR_RETURN(const auto text, while_answering<std::string>(state, call, [&state, day = shown.day] {
                     return history::text_of(state.catalog.stores(), day);
                   }));
  return xxh64(text) == shown.day.hash ? Result<SnapshotPtr>(text_document(state, attr_of_day(shown), text))
                                       : Result<SnapshotPtr>(stale_error());
}

/// The day from which a file's node was made. It is stale if the day has another text now, as after a write by this
/// mount, so that the name is looked up again.
Result<ShownDay> day_for(MountState& state, RequestContext& call, NodeId node) {
  auto days = state.history.known();
  if (!days || state.written_since(0, days->begun)) {
    ASSIGN_OR_RETURN(days, days_now(state, call));
  }
  const ShownDay* shown = days->find(node.slot());
  const bool is_right = shown != nullptr && shown->version == node.item();
  return is_right ? Result<ShownDay>(*shown) : Result<ShownDay>(stale_error());
}

/// While a history cannot be looked at, the folder is as old as the mount.
Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  const auto written = while_answering<std::int64_t>(state, call, [&state] {
    return Result<std::int64_t>(history::written_ns(state.catalog.stores()).value_or(state.mounted_ns));
  });
  if (call.is_deferred()) {
    return written.error();
  }
  return directory_attr(node, stable_ino(0, word_of(node)), written ? *written : state.mounted_ns);
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId /*node*/, std::string_view name) {
  const bool may_be_day = name.ends_with(kSuffix);
  const auto number =
      may_be_day ? history::day_named(name.substr(0, name.size() - kSuffix.size())) : std::optional<std::uint32_t>();
  if (!number) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto days, days_now(state, call));
  const ShownDay* shown = days->find(*number);
  if (shown == nullptr) {
    return no_such_name();
  }
  // Programs add prompts to the newest day all the time: an open may get what its lookup found (just_looked_up).
  if (shown->day.text) {
    ASSIGN_OR_RETURN(const auto document, document_of(state, call, *shown));
    return Child{document->attr.node, CacheTtl::glance, document->attr};
  }
  return Child{file_node(*shown), CacheTtl::glance};
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId /*node*/) {
  ASSIGN_OR_RETURN(const auto days, days_now(state, call));
  std::vector<NamesSnapshot::Item> items;
  for (const ShownDay& shown : days->days) {
    NamesSnapshot::Item item{name_of(shown), {file_node(shown), CacheTtl::glance}, std::nullopt};
    item.brief = Attr{item.child.node, ino_of(shown), FileType::file, CacheTtl::glance, 0, 0};
    items.push_back(std::move(item));
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
}

Result<Attr> file_attr(MountState& state, RequestContext& call, NodeId node) {
  const auto shown = day_for(state, call, node);
  if (shown || shown.error().code != Errc::stale) {
    return shown ? Result<Attr>(attr_of_day(*shown)) : Result<Attr>(shown.error());
  }
  ASSIGN_OR_RETURN(const auto found, just_looked_up(state, call, node, 0));
  return found->attr;
}

Result<OpenFilePtr> file_open(MountState& state, RequestContext& call, NodeId node) {
  const auto shown = day_for(state, call, node);
  auto document = shown ? document_of(state, call, *shown) : Result<SnapshotPtr>(shown.error());
  if (!document && document.error().code == Errc::stale) {
    document = just_looked_up(state, call, node, 0);
  }
  return document ? Result<OpenFilePtr>(file_of(std::move(*document))) : Result<OpenFilePtr>(document.error());
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::history, "history", attr, lookup, list),
      file_row(Kind::history_file, "history-file", file_attr, file_open),
  };
  return kRows;
}

}  // namespace arborfs::history_nodes
