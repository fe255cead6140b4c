#include <algorithm>
#include <array>

#include "core/base/result_macros.h"
#include "core/stats/recent_stats.h"
#include "fs/nodes/node_families.h"

namespace arborfs::stats_nodes {

namespace {

using stats::ShownStats;
using stats::ShownStatsPtr;

std::string name_at(std::size_t at) {
  return "by-" + std::string(stats::kByNames.at(static_cast<std::size_t>(stats::kShown.at(at)))) + ".tsv";
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
  if (auto made = state.stats.fresh(state.catalog)) {
    return made;
  }
  if (!call.may_take_long()) {
    return call.defer();
  }
  return state.stats.sum_up(state.catalog, call.cancelled());
}

SnapshotPtr document_of(MountState& state, const ShownStats& made, std::size_t at) {
  const NodeId node = file_node(at, made.version);
  if (auto known = state.documents.find(node)) {
    return known;
  }
  const std::string& text = made.texts.at(at);
  const Attr attr{node, ino_of(at), FileType::file, CacheTtl::forever, text.size(), made.made_ns};
  return state.documents.put_recent(literal_document(attr, text), false);
}

/// The document of a file's node. It is over when the sums are others, and a write by this mount makes it stale, so
/// that the name is looked up again. While programs write all the time, that happens between each lookup and its open:
/// then the document that was just looked up counts, and if this mount wrote, sums that are still the same.
Result<SnapshotPtr> document_for(MountState& state, RequestContext& call, NodeId node) {
  if (node.slot() >= stats::kShown.size()) {
    return stale_error();
  }
  auto made = state.stats.known();
  const bool is_right = made && made->version == node.item() &&
                        (!state.written_since(0, made->begun) || state.stats.fresh(state.catalog) != nullptr);
  if (!is_right) {
    if (auto known = just_looked_up(state, call, node, 0)) {
      return known;
    }
    ASSIGN_OR_RETURN(made, sums_now(state, call));
  }
  return made->version == node.item() ? Result<SnapshotPtr>(document_of(state, *made, node.slot()))
                                      : Result<SnapshotPtr>(stale_error());
}

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, stable_ino(0, word_of(node)), state.mounted_ns);
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId /*node*/, std::string_view name) {
  for (std::size_t at = 0; at < stats::kShown.size(); ++at) {
    if (name == name_at(at)) {
      ASSIGN_OR_RETURN(const auto made, sums_now(state, call));
      const SnapshotPtr document = document_of(state, *made, at);
      return Child{document->attr.node, CacheTtl::glance, document->attr};
    }
  }
  return no_such_name();
}

/// Only names, so that no log is read before a program looks up a file.
Result<ListingPtr> list(MountState& /*state*/, RequestContext& /*call*/, NodeId /*node*/) {
  std::vector<NamesSnapshot::Item> items;
  for (std::size_t at = 0; at < stats::kShown.size(); ++at) {
    NamesSnapshot::Item item{name_at(at), {file_node(at, 0), CacheTtl::glance}, std::nullopt};
    item.brief = Attr{item.child.node, ino_of(at), FileType::file, CacheTtl::glance, 0, 0};
    items.push_back(std::move(item));
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
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
      folder_row(Kind::stats, "stats", attr, lookup, list),
      file_row(Kind::stats_file, "stats-file", file_attr, file_open),
  };
  return kRows;
}

}  // namespace arborfs::stats_nodes
