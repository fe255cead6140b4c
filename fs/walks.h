// Notices readers that go through entries/ or text/ in order, and says what they will want next. Fed with the files
// that the kernel asks for: those whose bytes it does not have. Of what is said one file in the middle, the marker, is
// to be left out: the kernel will ask for it, and so tell how far the reader has come while there is still time to hand
// over more.
// Used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/log/log_index.h"
#include "fs/node_id.h"

namespace arborfs {

/// Files of one folder, one after the other: ordinals from `first` on, each `step` from the one before.
struct WalkStretch {
  Kind kind = Kind::entry;
  std::uint32_t slot = 0;
  Ordinal first = kNoEntry;
  int step = 1;  // or -1
  std::uint32_t count = 0;
  Ordinal marker = kNoEntry;

  [[nodiscard]] Ordinal nth(std::uint32_t n) const {
    return static_cast<Ordinal>(static_cast<std::int64_t>(first) + step * static_cast<std::int64_t>(n));
  }
};

class Walks {
 public:
  static constexpr std::size_t kMost = 8;           // readers told apart
  static constexpr std::int64_t kNear = 6;          // several threads of one reader go not quite in order
  static constexpr std::uint32_t kSure = 3;         // files in a row make a walk
  static constexpr std::uint32_t kFirstCount = 32;  // of the first stretch; each is twice as long as the one before
  static constexpr std::uint32_t kLongestCount = 256;

  /// The kernel asked for the bytes of an entry or a text.
  std::optional<WalkStretch> note(NodeId node);

 private:
  struct Walk {
    NodeId folder;  // kind and slot of its files, item 0; no node: free
    Ordinal at = kNoEntry;
    int step = 0;
    std::uint32_t in_a_row = 1;
    std::uint32_t count = 0;  // of the last stretch; 0: nothing was said yet
    Ordinal end = kNoEntry;   // the last file of it
    Ordinal marker = kNoEntry;
    std::uint64_t used = 0;
  };
  static bool is_on(const Walk& walk, NodeId folder, Ordinal ordinal);
  Walk& walk_at(NodeId folder, Ordinal ordinal);
  static void begin(Walk& walk, Ordinal at);
  static bool goes_on(Walk& walk, Ordinal ordinal);
  static std::optional<WalkStretch> stretch_from(Walk& walk, std::int64_t first);

  std::array<Walk, kMost> walks_{};
  std::uint64_t uses_ = 0;
};

}  // namespace arborfs
