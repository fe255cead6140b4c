#include <array>

#include "core/base/result_macros.h"
#include "core/model/tree.h"
#include "core/render/names.h"
#include "core/render/views.h"
#include "fs/nodes/node_families.h"

namespace arborfs::label_nodes {

namespace {

/// Names in labels/ are not cached: to invalidate one would wait for any request that changes another, because the
/// kernel keeps the folder locked during it.
constexpr CacheTtl kLabelTtl = CacheTtl::glance;

std::string target_of(const LogIndex& index, Ordinal ordinal) {
  return "../entries/" + names::entry_stem(index, ordinal) + ".json";
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
  ASSIGN_OR_RETURN(const auto guard, guard_of_entry(state, call, node));
  return target_of(guard.index(), node.item());
}

Result<Attr> link_attr(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto target, link_target(state, call, node));
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  return symlink_attr(node, entry_ino(ref.seed, word_of(node), guard.index(), node.item()), CacheTtl::forever, target,
                      entry_nodes::entry_time(guard, node.item()));
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
