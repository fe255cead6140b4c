#include <algorithm>

#include "core/base/result_macros.h"
#include "core/stats/recent_stats.h"
#include "fs/nodes/nodes.h"

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

/// The sums from which a file's node was made. A write by this mount makes them stale, so that the name is looked up
/// again.
Result<ShownStatsPtr> sums_for(MountState& state, NodeId node) {
  auto made = state.stats.known();
  const bool is_right = made && made->version == node.item() && node.slot() < stats::kShown.size() &&
                        (!state.written_since(0, made->begun) || state.stats.fresh(state.catalog) != nullptr);
  return is_right ? Result<ShownStatsPtr>(std::move(made)) : Result<ShownStatsPtr>(stale_error());
}

}  // namespace

Result<Attr> attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  return directory_attr(node, stable_ino(0, word_of(node)), state.mounted_ns);
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId /*node*/, std::string_view name) {
  for (std::size_t at = 0; at < stats::kShown.size(); ++at) {
    if (name == name_at(at)) {
      ASSIGN_OR_RETURN(const auto made, sums_now(state, call));
      return Child{file_node(at, made->version), CacheTtl::glance};
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

Result<Attr> file_attr(MountState& state, RequestContext& /*call*/, NodeId node) {
  ASSIGN_OR_RETURN(const auto made, sums_for(state, node));
  return Attr{node,         ino_of(node.slot()), FileType::file, CacheTtl::forever, made->texts.at(node.slot()).size(),
              made->made_ns};
}

Result<OpenFilePtr> file_open(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto attr, file_attr(state, call, node));
  ASSIGN_OR_RETURN(const auto made, sums_for(state, node));
  const auto document = literal_document(attr, made->texts.at(node.slot()));
  return OpenFilePtr(std::make_shared<SnapshotFile>(state.documents.put(document, false)));
}

}  // namespace arborfs::stats_nodes
