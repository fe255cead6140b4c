#include "fs/walks.h"

#include <algorithm>

namespace arborfs {

namespace {

/// How far `to` lies from `from` in the direction of `step`.
std::int64_t ahead(Ordinal from, Ordinal to, int step) {
  return (static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from)) * step;
}

}  // namespace

/// True where a reader may be who goes on with the walk: about where it was last, or on what was said of it.
bool Walks::is_on(const Walk& walk, NodeId folder, Ordinal ordinal) {
  if (walk.folder != folder) {
    return false;
  }
  if (walk.count == 0) {
    return std::abs(ahead(walk.at, ordinal, 1)) <= kNear;
  }
  return ahead(walk.at, ordinal, walk.step) >= -kNear && ahead(walk.end, ordinal, walk.step) <= kNear;
}

/// Several threads of one reader may go through a folder from both its ends.
Walks::Walk& Walks::walk_at(NodeId folder, Ordinal ordinal) {
  const auto same = [&](const Walk& walk) { return is_on(walk, folder, ordinal); };
  auto found = std::find_if(walks_.begin(), walks_.end(), same);
  if (found == walks_.end()) {
    found = std::min_element(walks_.begin(), walks_.end(),
                             [](const Walk& one, const Walk& other) { return one.used < other.used; });
    *found = Walk{};
    found->folder = folder;
  }
  found->used = ++uses_;
  return *found;
}

void Walks::begin(Walk& walk, Ordinal at) {
  Walk fresh;
  fresh.folder = walk.folder;
  fresh.used = walk.used;
  fresh.at = at;
  walk = fresh;
}

/// Takes the file in; false when it begins another walk.
bool Walks::goes_on(Walk& walk, Ordinal ordinal) {
  const std::int64_t far = ahead(walk.at, ordinal, 1);
  if (walk.at == kNoEntry || far == 0 || std::abs(far) > kNear) {
    return false;
  }
  if (walk.step == 0) {
    walk.step = far > 0 ? 1 : -1;
  }
  if (ahead(walk.at, ordinal, walk.step) > 0) {
    walk.at = ordinal;
    ++walk.in_a_row;
  }
  return true;
}

std::optional<WalkStretch> Walks::stretch_from(Walk& walk, std::int64_t first) {
  walk.count = walk.count == 0 ? kFirstCount : std::min(walk.count * 2, kLongestCount);
  if (walk.step < 0) {
    walk.count = static_cast<std::uint32_t>(std::clamp<std::int64_t>(first, 0, walk.count));
  }
  if (walk.count == 0 || first > UINT32_MAX - static_cast<std::int64_t>(walk.count)) {
    begin(walk, walk.at);
    return std::nullopt;
  }
  WalkStretch stretch{walk.folder.kind(), walk.folder.slot(), static_cast<Ordinal>(first),
                      walk.step,          walk.count,         kNoEntry};
  walk.end = stretch.nth(walk.count - 1);
  walk.marker = stretch.marker = stretch.nth(walk.count / 2);
  return stretch;
}

std::optional<WalkStretch> Walks::note(NodeId node) {
  const Ordinal ordinal = node.item();
  Walk& walk = walk_at(NodeId(node.kind(), node.slot(), 0), ordinal);
  if (walk.count != 0 && ordinal == walk.marker) {
    walk.at = ordinal;
    return stretch_from(walk, static_cast<std::int64_t>(walk.end) + walk.step);
  }
  if (walk.count != 0 && ahead(ordinal, walk.end, walk.step) >= 0 && ahead(walk.at, ordinal, walk.step) >= -kNear) {
    return std::nullopt;  // it came before what was to be handed over
  }
  if (walk.count != 0 && ahead(walk.end, ordinal, walk.step) > 0) {
    walk.at = walk.end;  // it came past the marker unseen
  }
  if (!goes_on(walk, ordinal)) {
    begin(walk, ordinal);
  }
  if (walk.in_a_row < kSure) {
    return std::nullopt;
  }
  // The reader asks for the next few before they could be handed over.
  return stretch_from(walk, static_cast<std::int64_t>(walk.at) + walk.step * kNear);
}

}  // namespace arborfs
