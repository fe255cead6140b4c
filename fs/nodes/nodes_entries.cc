#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/tree.h"
#include "core/entry/views.h"
#include "core/views/session_views.h"
#include "fs/nodes/node_table.h"

namespace arborfs::entry_nodes {

namespace {

std::string json_name(const LogIndex& index, Ordinal ordinal) {
  return names::entry_stem(index, ordinal) + ".json";
}

std::string text_name(const LogIndex& index, Ordinal ordinal) {
  return names::entry_stem(index, ordinal) + ".md";
}

Attr file_attr(const Session::Guard& guard, std::uint64_t seed, NodeId node, std::uint64_t size) {
  const std::uint64_t ino = entry_ino(seed, word_of(node), guard.index(), node.item());
  return {node, ino, FileType::file, CacheTtl::forever, size, entry_time(guard, node.item())};
}

/// The size is that of the entry's bytes in the log and a line feed.
Attr json_attr(const Session::Guard& guard, std::uint64_t seed, NodeId node) {
  return file_attr(guard, seed, node, guard.index().length(node.item()) + 1);
}

Attr text_attr(const Session::Guard& guard, std::uint64_t seed, NodeId node) {
  return file_attr(guard, seed, node, guard.details().text_size(node.item()));
}

constexpr EntriesSnapshot::Row kJsonRow{Kind::entry, json_name, json_attr};
constexpr EntriesSnapshot::Row kTextRow{Kind::text, text_name, text_attr};

/// True for text files and their folder, which need more of the log than entries do.
bool is_text(NodeId node) {
  return node.kind() == Kind::text || node.kind() == Kind::texts;
}

Depth depth_of(NodeId node) {
  return is_text(node) ? Depth::details : Depth::index;
}

Result<Attr> attr_in(const Session::Guard& guard, std::uint64_t seed, NodeId node) {
  const Ordinal known = is_text(node) ? guard.details().size() : guard.index().size();
  if (node.item() == kNoEntry || node.item() > known) {
    return stale_error();
  }
  return (is_text(node) ? text_attr : json_attr)(guard, seed, node);
}

}  // namespace

Result<Attr> attr(MountState& /*state*/, RequestContext& /*call*/, const SessionRef& ref, NodeId node) {
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  return attr_in(guard, ref.seed, node);
}

namespace {

/// A full stem names its entry forever once it is settled; an id or a number may name another entry later.
Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  const std::string_view suffix = is_text(node) ? ".md" : ".json";
  if (!name.ends_with(suffix) || name.starts_with(".")) {
    return no_such_name();
  }
  const std::string_view stem = name.substr(0, name.size() - suffix.size());
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, depth_of(node)));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  const LogIndex& index = guard.index();
  const Ordinal listed = names::leading_ordinal(stem).value_or(kNoEntry);
  const bool is_full = listed != kNoEntry && listed <= index.size() && names::entry_stem(index, listed) == stem;
  const Ordinal meant = is_full ? listed : resolve_name(index, stem);
  if (meant == kNoEntry) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, ref, guard, meant));
  const NodeId child(is_text(node) ? Kind::text : Kind::entry, slot, meant);
  ASSIGN_OR_RETURN(const auto attr, attr_in(guard, ref.seed, child));
  return Child{child, is_full ? entry_name_life(guard, meant) : CacheTtl::moment, attr};
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, depth_of(node)));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  const Ordinal count = is_text(node) ? guard.details().size() : guard.index().size();
  return ListingPtr(std::make_shared<EntriesSnapshot>(ref, guard, is_text(node) ? kTextRow : kJsonRow, count));
}

/// A blob may be missing now and be written later, in pieces.
CacheTtl name_life(const ImageRef& image) {
  return image.blob.empty() ? CacheTtl::forever : CacheTtl::glance;
}

Result<Child> images_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::details));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  const Ordinal ordinal = names::leading_ordinal(name).value_or(kNoEntry);
  const auto& all = guard.details().images();
  auto image = std::lower_bound(all.begin(), all.end(), ordinal,
                                [](const ImageRef& row, Ordinal wanted) { return row.ordinal < wanted; });
  for (; image != all.end() && image->ordinal == ordinal; ++image) {
    if (image->ordinal <= guard.index().size() && names::image_file(guard.index(), *image) == name) {
      return Child{NodeId(Kind::image, node.slot(), static_cast<std::uint32_t>(image - all.begin())),
                   name_life(*image)};
    }
  }
  return no_such_name();
}

Result<ListingPtr> images_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::details));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  std::vector<NamesSnapshot::Item> items;
  std::uint32_t at = 0;
  for (const ImageRef& image : guard.details().images()) {
    items.push_back({names::image_file(guard.index(), image),
                     {NodeId(Kind::image, node.slot(), at), name_life(image)},
                     std::nullopt});
    ++at;
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), guard.epoch()));
}

}  // namespace

/// Only the store knows the size of a blob, and a missing blob may be added later.
Result<Attr> image_attr(MountState& state, RequestContext& /*call*/, const SessionRef& ref, NodeId node) {
  const auto facts = view_facts(*ref.session, item_views::image, node.item(), state.catalog);
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  if (!facts) {
    return facts.error();
  }
  const ImageRef& image = guard.details().images()[node.item()];
  const std::string word = std::string(word_of(node)) + std::to_string(image.number);
  const std::uint64_t ino = entry_ino(ref.seed, word, guard.index(), image.ordinal);
  const bool is_fixed = image.blob.empty();
  return Attr{node,           ino,
              FileType::file, is_fixed ? CacheTtl::forever : CacheTtl::glance,
              facts->size,    entry_time(guard, image.ordinal)};
}

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::entries, "entries", session_nodes::folder_attr, lookup, list),
      folder_row(Kind::texts, "texts", session_nodes::folder_attr, lookup, list),
      folder_row(Kind::images, "images", session_nodes::folder_attr, images_lookup, images_list),
  };
  return kRows;
}

}  // namespace arborfs::entry_nodes

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
    BranchRow{"context.html", Kind::branch_context_page, true},
    BranchRow{"transcript.md", Kind::branch_transcript, true},
    BranchRow{"transcript.html", Kind::branch_page, true},
    BranchRow{"append", Kind::branch_append, false, true},
    BranchRow{"entries", Kind::branch_entries, false},
};

std::string target_of(const LogIndex& index, NodeId node) {
  return node.kind() == Kind::branch_entry_link ? "../../../entries/" + entry_nodes::json_name(index, node.item())
                                                : names::branch_stem(index, node.item());
}

Attr folder_attr(const Session::Guard& guard, std::uint64_t seed, NodeId node) {
  return directory_attr(node, entry_ino(seed, word_of(node), guard.index(), node.item()), guard.stat().mtime_ns);
}

Attr symlink_of(const Session::Guard& guard, std::uint64_t seed, NodeId node) {
  const std::uint64_t ino = node.kind() == Kind::current_link
                                ? stable_ino(seed, word_of(node))
                                : entry_ino(seed, word_of(node), guard.index(), node.item());
  return symlink_attr(node, ino, CacheTtl::forever, target_of(guard.index(), node), entry_time(guard, node.item()));
}

constexpr EntriesSnapshot::Row kTipRow{Kind::branch, names::branch_stem, folder_attr};
constexpr EntriesSnapshot::Row kPathRow{Kind::branch_entry_link, entry_nodes::json_name, symlink_of};

Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  if (name.starts_with(".")) {
    return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
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
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  const LogIndex& index = here.guard.index();
  const Ordinal leaf = here.guard.leaf();
  std::vector<Ordinal> shown = conversation_ends(index, leaf);
  std::optional<NamesSnapshot::Item> current;
  if (leaf != kNoEntry) {
    const auto place = std::lower_bound(shown.begin(), shown.end(), leaf);
    if (place == shown.end() || *place != leaf) {
      shown.insert(place, leaf);
    }
    ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, here.ref, here.guard, leaf));
    const NodeId link(Kind::current_link, slot, leaf);
    current = NamesSnapshot::Item{std::string(kCurrent), {link, CacheTtl::moment}, std::nullopt};
  }
  return ListingPtr(
      std::make_shared<EntriesSnapshot>(here.ref, here.guard, kTipRow, std::move(shown), std::move(current)));
}

Result<Attr> branch_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  return folder_attr(here.guard, here.ref.seed, node);
}

Result<Child> branch_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  const auto row = std::find_if(kBranchRows.begin(), kBranchRows.end(),
                                [&](const BranchRow& candidate) { return candidate.name == name; });
  if (row == kBranchRows.end() || (row->is_control && !control_nodes::is_in(state, *here.ref.session, row->name))) {
    return no_such_name();
  }
  return Child{NodeId(row->kind, node.slot(), node.item()), CacheTtl::forever};
}

Result<ListingPtr> branch_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
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
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  const LogIndex& index = here.guard.index();
  constexpr std::string_view kSuffix = ".json";
  const Ordinal listed =
      names::leading_ordinal(name.substr(0, name.size() - std::min(name.size(), kSuffix.size()))).value_or(kNoEntry);
  if (listed == kNoEntry || listed > index.size() || entry_nodes::json_name(index, listed) != name) {
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
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  auto path = people_entries(here.guard.index(), node.item());
  return ListingPtr(std::make_shared<EntriesSnapshot>(here.ref, here.guard, kPathRow, std::move(path)));
}

}  // namespace

/// The bytes never change within a generation, but the mtime is the log's.
Result<Attr> document_attr(MountState& state, RequestContext& call, const SessionRef& ref, NodeId node) {
  const ViewRow& view = view_of_node(node.kind());
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
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  return symlink_of(here.guard, here.ref.seed, node);
}

Result<std::string> link_target(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
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

namespace arborfs::label_nodes {

namespace {

/// Names in labels/ are not cached: to invalidate one would wait for any request that changes another, because the
/// kernel keeps the folder locked during it.
constexpr CacheTtl kLabelTtl = CacheTtl::glance;

std::string target_of(const LogIndex& index, Ordinal ordinal) {
  return "../entries/" + entry_nodes::json_name(index, ordinal);
}

/// A run at the very end of the log may still grow, so its node depends on the session's epoch.
NodeId damage_node(const Session::Guard& guard, NodeId folder, std::uint32_t home, const Damage& damage,
                   std::uint32_t at) {
  const bool is_tail = damage.in_progress || damage.offset + damage.length >= guard.index().scanned_size();
  return is_tail ? NodeId(Kind::damage_tail, home, guard.epoch()) : NodeId(Kind::damage_run, folder.slot(), at);
}

Result<Child> lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  for (const auto& label : named_labels(guard.index())) {
    if (names::encode_label(label.name) == name) {
      ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, ref, guard, label.target));
      return Child{NodeId(Kind::label_link, slot, label.target), kLabelTtl};
    }
  }
  return no_such_name();
}

Result<ListingPtr> list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  std::vector<NamesSnapshot::Item> items;
  for (const auto& label : named_labels(guard.index())) {
    ASSIGN_OR_RETURN(const auto slot, slot_of_entry(state, ref, guard, label.target));
    const NodeId link(Kind::label_link, slot, label.target);
    items.push_back({names::encode_label(label.name), {link, kLabelTtl}, std::nullopt});
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), guard.epoch()));
}

Result<std::string> link_target(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  return target_of(here.guard.index(), node.item());
}

Result<Attr> link_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
  const LogIndex& index = here.guard.index();
  return symlink_attr(node, entry_ino(here.ref.seed, word_of(node), index, node.item()), CacheTtl::forever,
                      target_of(index, node.item()), entry_time(here.guard, node.item()));
}

Result<Child> damage_lookup(MountState& state, RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  std::uint32_t at = 0;
  for (const Damage& damage : shown_damage(guard)) {
    if (damage_name(damage) == name) {
      return Child{damage_node(guard, node, ref.home, damage, at), CacheTtl::moment};
    }
    ++at;
  }
  return no_such_name();
}

Result<ListingPtr> damage_list(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  std::vector<NamesSnapshot::Item> items;
  std::uint32_t at = 0;
  for (const Damage& damage : shown_damage(guard)) {
    items.push_back(
        {damage_name(damage), {damage_node(guard, node, ref.home, damage, at), CacheTtl::moment}, std::nullopt});
    ++at;
  }
  return ListingPtr(std::make_shared<NamesSnapshot>(std::move(items), guard.epoch()));
}

}  // namespace

Result<Attr> run_attr(MountState& /*state*/, RequestContext& /*call*/, const SessionRef& ref, NodeId node) {
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  const auto all = shown_damage(guard);
  if (node.item() >= all.size()) {
    return stale_error();
  }
  const Damage& damage = all[node.item()];
  const std::uint64_t ino = stable_ino(ref.seed, word_of(node), std::to_string(damage.offset));
  return Attr{node, ino, FileType::file, CacheTtl::forever, damage.length, guard.stat().mtime_ns};
}

NodeRows rows() {
  static constexpr std::array kRows = {
      folder_row(Kind::labels, "labels", session_nodes::folder_attr, lookup, list),
      folder_row(Kind::damage, "damage", session_nodes::folder_attr, damage_lookup, damage_list),
      link_row(Kind::label_link, "label", link_attr, link_target),
  };
  return kRows;
}

}  // namespace arborfs::label_nodes
