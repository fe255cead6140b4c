#include "core/formats/claude/leaf_finder.h"

namespace arborfs::claude {
namespace {

bool descends_from(const RecordSink& index, Ordinal from, Ordinal ancestor, Ordinal most) {
  Ordinal at = from;
  for (Ordinal steps = 0; at != kNoEntry && steps <= most; ++steps) {
    if (at == ancestor) {
      return true;
    }
    at = index.parent(at);
  }
  return false;
}

}  // namespace

void LeafFinder::take_node(const Row& node, Ordinal ordinal) {
  any_row_ = ordinal;
  if (node.is_sidechain) {
    return;
  }
  row_ = ordinal;
  is_explicit_ = false;
  if (node.is_message) {
    is_rewound_ = false;
  }
  if (node.is_boundary) {
    pin_.clear();
  }
}

void LeafFinder::take_pin(const Row& pin) {
  if (!pin.leaf.empty()) {
    pin_ = pin.leaf;
    is_explicit_ = pin.is_explicit;
    is_rewound_ = false;
  } else if (pin.is_explicit) {
    pin_.clear();
    is_rewound_ = true;
  }
}

Ordinal LeafFinder::leaf(const RecordSink& index) const {
  if (is_rewound_) {
    return kNoEntry;
  }
  const Ordinal row = row_ == kNoEntry ? any_row_ : row_;
  const Ordinal pinned = pin_.empty() ? kNoEntry : index.find(pin_);
  if (pinned == kNoEntry || (!is_explicit_ && descends_from(index, row, pinned, any_row_))) {
    return row;
  }
  return pinned;
}

}  // namespace arborfs::claude
