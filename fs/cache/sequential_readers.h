// Detects readers that go through entries/ or text/ in order, and predicts which files they read next. Its input is the
// sequence of files that the kernel asks for, which are those whose bytes it has not cached. One file in the middle of
// a predicted stretch, the marker, must not be prefetched: the kernel will ask for it, which shows how far the reader
// has come while there is still time to prefetch more. A reader that is near the end of a folder and then lists another
// is expected to continue there. Used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/log/log_index.h"
#include "fs/tree/node_id.h"

namespace arborfs {

/// Consecutive files of one folder: ordinals from `first` on, each `step` from the one before.
struct ReadAheadRange {
  NodeId folder;  // kind and slot of its files, item 0
  Ordinal first = kNoEntry;
  int step = 1;  // or -1
  std::uint32_t count = 0;
  Ordinal reader = kNoEntry;  // where the reader was last
  std::size_t walk = 0;       // the reader's place in walks_

  [[nodiscard]] Ordinal nth(std::uint32_t n) const {
    return static_cast<Ordinal>(static_cast<std::int64_t>(first) + step * static_cast<std::int64_t>(n));
  }
};

class SequentialReaders {
 public:
  static constexpr std::size_t kMost = 8;         // readers that are tracked at a time
  static constexpr std::int64_t kNear = 6;        // several threads of one reader are not quite in order
  static constexpr std::uint32_t kSure = 3;       // this many files in a row make a walk
  static constexpr std::int64_t kFirstLead = 32;  // files ahead of the reader; doubled at each marker that it reaches
  static constexpr std::int64_t kLongestLead = 2048;
  static constexpr std::int64_t kApart = 256;  // least distance between markers that the reader has not reached

  /// The kernel asked for the bytes of an entry or a text.
  std::optional<ReadAheadRange> note(NodeId node);
  /// The kernel is being sent the files of a folder up to `last`, so it knows those of earlier replies; kNoEntry: the
  /// listing has ended.
  std::optional<ReadAheadRange> note_listed(NodeId folder, bool is_from_start, Ordinal last);
  /// A stretch is about to be prefetched. Returns its marker; kNoEntry for none.
  Ordinal mark(const ReadAheadRange& stretch);
  /// Only the first `count` files of a stretch are prefetched, and no later prediction for its walk.
  void cut(const ReadAheadRange& stretch, std::uint32_t count);
  /// The folder ends with this stretch.
  void note_end(const ReadAheadRange& stretch);

 private:
  struct Walk {
    NodeId folder;  // no node: unused
    Ordinal at = kNoEntry;
    int step = 0;
    std::uint32_t in_a_row = 1;
    std::int64_t lead = 0;         // 0: nothing was predicted yet
    std::int64_t end = 0;          // the last predicted file
    std::vector<Ordinal> markers;  // in the order of the walk
    std::uint64_t used = 0;
  };
  struct Listed {
    std::size_t walk;
    NodeId folder;
    Ordinal last;  // the last one that the kernel knows by the next request
  };
  struct Finished {
    NodeId folder;
    std::int64_t lead;
  };
  static bool is_on(const Walk& walk, NodeId folder, Ordinal ordinal);
  std::size_t walk_at(NodeId folder, Ordinal ordinal);
  Walk* walk_of(std::size_t number, NodeId folder, int step);
  static void begin(Walk& walk, Ordinal at);
  static bool goes_on(Walk& walk, Ordinal ordinal);
  static bool takes_marker(Walk& walk, Ordinal ordinal);
  std::optional<ReadAheadRange> lead_on(std::size_t walk, std::int64_t to);

  std::array<Walk, kMost> walks_{};
  std::uint64_t uses_ = 0;
  std::optional<Finished> finished_;  // the last folder that was predicted to its end, until another is listed
  std::optional<Listed> follow_;      // the folder that was listed then
};

}  // namespace arborfs
