// Notices readers that go through entries/ or text/ in order, and says what they will want next. Fed with the files
// that the kernel asks for: those whose bytes it does not have. Of what is said one file in the middle, the marker, is
// to be left out: the kernel will ask for it, and so tell how far the reader has come while there is still time to hand
// over more. A reader that is near the end of a folder and then lists another one is expected to go on there.
// Used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/log/log_index.h"
#include "fs/tree/node_id.h"

namespace arborfs {

/// Files of one folder, one after the other: ordinals from `first` on, each `step` from the one before.
struct ReadAheadRange {
  NodeId folder;  // kind and slot of its files, item 0
  Ordinal first = kNoEntry;
  int step = 1;  // or -1
  std::uint32_t count = 0;
  Ordinal reader = kNoEntry;  // where he was last
  std::size_t walk = 0;       // of a reader

  [[nodiscard]] Ordinal nth(std::uint32_t n) const {
    return static_cast<Ordinal>(static_cast<std::int64_t>(first) + step * static_cast<std::int64_t>(n));
  }
};

class SequentialReaders {
 public:
  static constexpr std::size_t kMost = 8;         // readers told apart
  static constexpr std::int64_t kNear = 6;        // several threads of one reader go not quite in order
  static constexpr std::uint32_t kSure = 3;       // files in a row make a walk
  static constexpr std::int64_t kFirstLead = 32;  // files before the reader; each time that he is met it is doubled
  static constexpr std::int64_t kLongestLead = 2048;
  static constexpr std::int64_t kApart = 256;  // markers that he has not come to, at least

  /// The kernel asked for the bytes of an entry or a text.
  std::optional<ReadAheadRange> note(NodeId node);
  /// The kernel was told of the files of a folder up to `last`, and knows those that it was told of before; kNoEntry:
  /// of no more, the list has ended.
  std::optional<ReadAheadRange> note_listed(NodeId folder, bool is_from_start, Ordinal last);
  /// A stretch is about to be handed over. Gives the marker, kNoEntry for none.
  Ordinal mark(const ReadAheadRange& stretch);
  /// No more than so many files of a stretch are handed over, and nothing that was said of its walk since.
  void cut(const ReadAheadRange& stretch, std::uint32_t count);
  /// The folder ends with a stretch.
  void note_end(const ReadAheadRange& stretch);

 private:
  struct Walk {
    NodeId folder;  // no node: free
    Ordinal at = kNoEntry;
    int step = 0;
    std::uint32_t in_a_row = 1;
    std::int64_t lead = 0;         // 0: nothing was said yet
    std::int64_t end = 0;          // the last file of what was said
    std::vector<Ordinal> markers;  // in the order of the walk
    std::uint64_t used = 0;
  };
  struct Listed {
    std::size_t walk;
    NodeId folder;
    Ordinal last;  // that the kernel knows by the next request
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
  std::optional<Finished> finished_;  // the folder all of which was said last, until another is listed
  std::optional<Listed> follow_;      // the one that was listed then
};

}  // namespace arborfs
