#include <algorithm>
#include <array>

#include "core/base/result_macros.h"
#include "core/model/tree.h"
#include "core/render/names.h"
#include "core/views/item_views.h"
#include "fs/nodes/node_families.h"

namespace arborfs::entry_nodes {

namespace {

constexpr std::int64_t kNanosPerMilli = 1'000'000;

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

std::int64_t entry_time(const Session::Guard& guard, Ordinal ordinal) {
  const std::int64_t time = guard.index().entry(ordinal).timestamp_ms;
  const bool fits = time > INT64_MIN / kNanosPerMilli && time < INT64_MAX / kNanosPerMilli;
  return time != Entry::kNoTime && fits ? time * kNanosPerMilli : guard.stat().mtime_ns;
}

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
