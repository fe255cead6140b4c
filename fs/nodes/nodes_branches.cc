#include <algorithm>
#include <array>

#include "core/base/result_macros.h"
#include "core/model/people_path.h"
#include "core/model/tree.h"
#include "core/render/names.h"
#include "core/views/item_views.h"
#include "fs/nodes/node_families.h"

namespace arborfs::branch_nodes {

namespace {

constexpr std::string_view kCurrent = "current";

/// A name in the folder of a branch.
struct BranchRow {
  std::string_view name;
  Kind kind;
  bool takes_work;
  bool is_control = false;
};

constexpr std::array kBranchRows = {
    BranchRow{"context.json", Kind::branch_context, true},
    BranchRow{"transcript.md", Kind::branch_transcript, true},
    BranchRow{"append", Kind::branch_append, false, true},
    BranchRow{"entries", Kind::branch_entries, false},
};

std::string entry_name(const LogIndex& index, Ordinal ordinal) {
  return names::entry_stem(index, ordinal) + ".json";
}

std::string target_of(const LogIndex& index, NodeId node) {
  return node.kind() == Kind::branch_entry_link ? "../../../entries/" + entry_name(index, node.item())
                                                : names::branch_stem(index, node.item());
}

Attr folder_attr(const Session::Guard& guard, std::uint64_t seed, NodeId node) {
  return directory_attr(node, entry_ino(seed, word_of(node), guard.index(), node.item()), guard.stat().mtime_ns);
}

Attr symlink_of(const Session::Guard& guard, std::uint64_t seed, NodeId node) {
  const std::uint64_t ino = node.kind() == Kind::current_link
                                ? stable_ino(seed, word_of(node))
                                : entry_ino(seed, word_of(node), guard.index(), node.item());
  return symlink_attr(node, ino, CacheTtl::forever, target_of(guard.index(), node),
                      entry_nodes::entry_time(guard, node.item()));
}

constexpr EntriesSnapshot::Row kTipRow{Kind::branch, names::branch_stem, folder_attr};
constexpr EntriesSnapshot::Row kPathRow{Kind::branch_entry_link, entry_name, symlink_of};

/// The session of a node in branches/ and its state, in which the node's entry exists.
struct At {
  SessionRef ref;
  Session::Guard guard;
};

Result<At> at(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(auto ref, resolve_session(state, call, node, Depth::index));
  ASSIGN_OR_RETURN(auto guard, guard_of(ref));
  const bool is_folder = node.kind() == Kind::branches;
  if (!is_folder && (node.item() == kNoEntry || node.item() > guard.index().size())) {
    return stale_error();
  }
  return At{std::move(ref), std::move(guard)};
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  if (name.starts_with(".")) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  const LogIndex& index = here.guard.index();
  if (const Ordinal leaf = here.guard.leaf(); name == kCurrent && leaf != kNoEntry) {
    ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, here.ref, here.guard, leaf));
    return Child{NodeId(Kind::current_link, slot, leaf), CacheTtl::moment};
  }
  const Ordinal listed = names::leading_ordinal(name).value_or(kNoEntry);
  if (listed != kNoEntry && listed <= index.size() && names::branch_stem(index, listed) == name) {
    ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, here.ref, here.guard, listed));
    return Child{NodeId(Kind::branch, slot, listed), entry_name_life(here.guard, listed)};
  }
  const Ordinal meant = resolve_name(index, name);
  if (meant == kNoEntry) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, here.ref, here.guard, meant));
  return Child{NodeId(Kind::branch_alias, slot, meant), CacheTtl::moment};
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  const LogIndex& index = here.guard.index();
  const Ordinal leaf = here.guard.leaf();
  std::vector<Ordinal> shown = conversation_ends(index, leaf);
  std::vector<NamesSnapshot::Item> head;
  if (leaf != kNoEntry) {
    const auto place = std::lower_bound(shown.begin(), shown.end(), leaf);
    if (place == shown.end() || *place != leaf) {
      shown.insert(place, leaf);
    }
    ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, here.ref, here.guard, leaf));
    const NodeId current(Kind::current_link, slot, leaf);
    head.push_back({std::string(kCurrent), {current, CacheTtl::moment}, std::nullopt});
  }
  const std::size_t head_size = head.size();
  auto names = std::make_shared<NamesSnapshot>(std::move(head), 0);
  if (shown.empty()) {
    return ListingPtr(std::move(names));
  }
  auto tips = std::make_shared<EntriesSnapshot>(here.ref, here.guard, kTipRow, std::move(shown));
  return ListingPtr(std::make_shared<JoinedSnapshot>(std::move(names), head_size, std::move(tips)));
}

Result<Attr> branch_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  return folder_attr(here.guard, here.ref.seed, node);
}

Result<Child> branch_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  const auto row = std::find_if(kBranchRows.begin(), kBranchRows.end(),
                                [&](const BranchRow& candidate) { return candidate.name == name; });
  if (row == kBranchRows.end() || (row->is_control && !control_nodes::is_in(state, *here.ref.session, row->name))) {
    return no_such_name();
  }
  return Child{NodeId(row->kind, node.slot(), node.item()), CacheTtl::forever};
}

Result<ListingPtr> branch_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  std::vector<NamesSnapshot::Item> items;
  for (const BranchRow& row : kBranchRows) {
    if (row.is_control && !control_nodes::is_in(state, *here.ref.session, row.name)) {
      continue;
    }
    const NodeId child(row.kind, node.slot(), node.item());
    NamesSnapshot::Item item{std::string(row.name), {child, CacheTtl::forever}, std::nullopt};
    if (row.takes_work) {
      const std::uint64_t ino = entry_ino(here.ref.seed, word_of(child), here.guard.index(), node.item());
      item.brief = Attr{child, ino, FileType::file, CacheTtl::moment, 0, 0};
    }
    items.push_back(std::move(item));
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), 0));
}

Result<Child> path_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  const LogIndex& index = here.guard.index();
  constexpr std::string_view kSuffix = ".json";
  const Ordinal listed =
      names::leading_ordinal(name.substr(0, name.size() - std::min(name.size(), kSuffix.size()))).value_or(kNoEntry);
  if (listed == kNoEntry || listed > index.size() || entry_name(index, listed) != name) {
    return no_such_name();
  }
  const auto path = people_entries(index, node.item());
  if (std::find(path.begin(), path.end(), listed) == path.end()) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, here.ref, here.guard, listed));
  return Child{NodeId(Kind::branch_entry_link, slot, listed), entry_name_life(here.guard, listed)};
}

Result<ListingPtr> path_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  auto path = people_entries(here.guard.index(), node.item());
  return ListingPtr(std::make_shared<EntriesSnapshot>(here.ref, here.guard, kPathRow, std::move(path)));
}

}  // namespace

/// The bytes never change within a generation, but the mtime is the log's.
Result<Attr> document_attr(MountState& state, RequestContext& call, const SessionRef& ref, NodeId node) {
  const bool is_context = node.kind() == Kind::branch_context;
  const ViewRow& view = is_context ? item_views::branch_context : item_views::branch_transcript;
  const auto known = state.documents.find(node);
  if (!known && !call.may_take_long() && ref.session->stat().size > Session::kQuickBytes) {
    return call.defer();
  }
  const auto facts = view_facts(*ref.session, view, node.item(), state.catalog);
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  if (!facts) {
    return facts.error();
  }
  const std::uint64_t ino = entry_ino(ref.seed, word_of(node), guard.index(), node.item());
  return Attr{node, ino, FileType::file, CacheTtl::moment, facts->size, guard.stat().mtime_ns};
}

namespace {

Result<Attr> link_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  return symlink_of(here.guard, here.ref.seed, node);
}

Result<std::string> link_target(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, at(state, call, node));
  return target_of(here.guard.index(), node);
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::branches, "branches", session_nodes::folder_attr, lookup, list),
      folder_row(Kind::branch, "branch", branch_attr, branch_lookup, branch_list),
      folder_row(Kind::branch_entries, "branch-entries", branch_attr, path_lookup, path_list),
      link_row(Kind::branch_entry_link, "branch-entry", link_attr, link_target),
      link_row(Kind::branch_alias, "branch-alias", link_attr, link_target),
      link_row(Kind::current_link, "current", link_attr, link_target),
  };
  return kRows;
}

}  // namespace arborfs::branch_nodes
