#include "core/formats/claude/loose_rows.h"

#include <utility>

namespace arborfs::claude {

std::string_view LooseRows::add_loose(const Row& row, std::string_view id, Ordinal ordinal) {
  End& end = end_of(row);
  if (end.loose_row == kNoEntry) {
    end.before = end.last;
  }
  parent_ = std::exchange(end.last, std::string(id));
  end.loose_row = ordinal;
  return parent_;
}

std::string_view LooseRows::parent_of(const Row& node, std::string_view parent) {
  End& end = end_of(node);
  const bool follows = end.loose_row != kNoEntry && parent == end.before;
  parent_ = follows ? std::string_view(end.last) : parent;
  end = {std::string(node.uuid), "", kNoEntry};
  return parent_;
}

Ordinal LooseRows::leaf(Ordinal leaf, const RecordSink& index) const {
  const std::string id = leaf == kNoEntry ? "" : index.id(leaf);
  for (const End& end : ends_) {
    if (end.loose_row != kNoEntry && end.before == id) {
      return end.loose_row;
    }
  }
  return leaf;
}

}  // namespace arborfs::claude
