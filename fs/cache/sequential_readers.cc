#include "fs/cache/sequential_readers.h"

#include <algorithm>
#include <utility>

namespace arborfs {

namespace {

/// How far ahead of `from` `to` is in the direction of `step`.
std::int64_t ahead(std::int64_t from, std::int64_t to, int step) {
  return (to - from) * step;
}

NodeId folder_of(NodeId node) {
  return {node.kind(), node.slot(), 0};
}

}  // namespace

/// True where a reader that continues the walk may be: near its last file, or in the predicted range.
bool SequentialReaders::is_on(const Walk& walk, NodeId folder, Ordinal ordinal) {
  if (walk.folder != folder) {
    return false;
  }
  if (walk.lead == 0) {
    return std::abs(ahead(walk.at, ordinal, 1)) <= kNear;
  }
  return ahead(walk.at, ordinal, walk.step) >= -kNear && ahead(walk.end, ordinal, walk.step) <= kNear;
}

/// The walk that this file belongs to, or a new one that replaces the least recently used. Several threads of one
/// reader may go through a folder from both ends.
std::size_t SequentialReaders::walk_at(NodeId folder, Ordinal ordinal) {
  const auto same = [&](const Walk& walk) { return is_on(walk, folder, ordinal); };
  auto found = std::find_if(walks_.begin(), walks_.end(), same);
  if (found == walks_.end()) {
    found = std::min_element(walks_.begin(), walks_.end(),
                             [](const Walk& one, const Walk& other) { return one.used < other.used; });
    *found = Walk{};
    found->folder = folder;
  }
  found->used = ++uses_;
  return static_cast<std::size_t>(found - walks_.begin());
}

/// Null if another walk has replaced it.
SequentialReaders::Walk* SequentialReaders::walk_of(std::size_t number, NodeId folder, int step) {
  Walk& walk = walks_[number];
  return walk.folder == folder && walk.step == step && walk.lead != 0 ? &walk : nullptr;
}

void SequentialReaders::begin(Walk& walk, Ordinal at) {
  Walk fresh;
  fresh.folder = walk.folder;
  fresh.used = walk.used;
  fresh.at = at;
  walk = std::move(fresh);
}

/// Adds a file to a walk; false if it starts another walk.
bool SequentialReaders::goes_on(Walk& walk, Ordinal ordinal) {
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

/// True if the reader has reached a marker; the markers before it are dropped.
bool SequentialReaders::takes_marker(Walk& walk, Ordinal ordinal) {
  const auto marker = std::find(walk.markers.begin(), walk.markers.end(), ordinal);
  if (marker == walk.markers.end()) {
    return false;
  }
  walk.markers.erase(walk.markers.begin(), marker + 1);
  walk.at = ordinal;
  return true;
}

/// Predicts the files after the last predicted one, up to `to`.
std::optional<ReadAheadRange> SequentialReaders::lead_on(std::size_t number, std::int64_t to) {
  Walk& walk = walks_[number];
  to = std::clamp<std::int64_t>(to, 1, UINT32_MAX);
  const std::int64_t count = ahead(walk.end, to, walk.step);
  if (count <= 0) {
    return std::nullopt;
  }
  const auto first = static_cast<Ordinal>(walk.end + walk.step);
  walk.end = to;
  return ReadAheadRange{walk.folder, first, walk.step, static_cast<std::uint32_t>(count), walk.at, number};
}

std::optional<ReadAheadRange> SequentialReaders::note(NodeId node) {
  const Ordinal ordinal = node.item();
  const std::size_t number = walk_at(folder_of(node), ordinal);
  Walk& walk = walks_[number];
  if (takes_marker(walk, ordinal)) {
    walk.lead = std::min(walk.lead * 2, kLongestLead);
    return lead_on(number, ordinal + walk.step * walk.lead);
  }
  if (walk.lead != 0 && ahead(ordinal, walk.end, walk.step) >= 0 && ahead(walk.at, ordinal, walk.step) >= -kNear) {
    return std::nullopt;  // it was asked for before it could be prefetched
  }
  if (walk.lead != 0 && ahead(walk.end, ordinal, walk.step) > 0) {
    walk.at = static_cast<Ordinal>(walk.end);  // the reader passed the markers without a request
  }
  if (!goes_on(walk, ordinal)) {
    begin(walk, ordinal);
  }
  if (walk.in_a_row < kSure) {
    return std::nullopt;
  }
  // The reader asks for the next few files before they could be prefetched.
  walk.end = walk.at + walk.step * (kNear - 1);
  walk.lead = std::max(walk.lead, kFirstLead);
  return lead_on(number, walk.end + walk.step * walk.lead);
}

std::optional<ReadAheadRange> SequentialReaders::note_listed(NodeId folder, bool is_from_start, Ordinal last) {
  if (is_from_start && finished_ && finished_->folder != folder) {
    follow_ = Listed{walk_at(folder, 1), folder, last};
    Walk& walk = walks_[follow_->walk];
    begin(walk, kNoEntry);
    walk.step = 1;
    walk.lead = finished_->lead;
    finished_.reset();
    return std::nullopt;
  }
  if (!follow_ || follow_->folder != folder) {
    return std::nullopt;
  }
  const Listed known = *follow_;
  follow_->last = last;
  if (last == kNoEntry) {
    follow_.reset();
  }
  const Walk* const walk = walk_of(known.walk, folder, 1);
  return walk == nullptr ? std::nullopt
                         : lead_on(known.walk, std::min<std::int64_t>(known.last, walk->at + walk->lead));
}

Ordinal SequentialReaders::mark(const ReadAheadRange& stretch) {
  Walk* const walk = walk_of(stretch.walk, stretch.folder, stretch.step);
  const Ordinal middle = stretch.nth(stretch.count / 2);
  if (walk == nullptr || stretch.count == 0 || ahead(walk->at, middle, stretch.step) <= 0) {
    return kNoEntry;
  }
  std::erase_if(walk->markers, [&](Ordinal marker) { return ahead(walk->at, marker, stretch.step) <= 0; });
  if (!walk->markers.empty() && ahead(walk->markers.back(), middle, stretch.step) < kApart) {
    return kNoEntry;
  }
  walk->markers.push_back(middle);
  return middle;
}

void SequentialReaders::note_end(const ReadAheadRange& stretch) {
  const Walk* const walk = walk_of(stretch.walk, stretch.folder, stretch.step);
  finished_ = Finished{stretch.folder, walk == nullptr ? kFirstLead : walk->lead};
}

void SequentialReaders::cut(const ReadAheadRange& stretch, std::uint32_t count) {
  Walk* const walk = walk_of(stretch.walk, stretch.folder, stretch.step);
  const std::int64_t end = stretch.first + stretch.step * (static_cast<std::int64_t>(count) - 1);
  if (walk == nullptr || ahead(end, walk->end, stretch.step) <= 0) {
    return;
  }
  walk->end = end;
  std::erase_if(walk->markers, [&](Ordinal marker) { return ahead(end, marker, stretch.step) > 0; });
}

}  // namespace arborfs
