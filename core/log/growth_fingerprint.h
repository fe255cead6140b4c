// Hashes of bytes of a log that growth does not change, to distinguish growth from a rewrite: of its first bytes, and
// of the last ones before the place where a scan resumes (CONTRACT.md 3.2). A value; any thread.
#pragma once

#include <cstdint>

#include "core/log/log_window.h"

namespace arborfs {

struct GrowthFingerprint {
  std::uint64_t slot = 0;      // a first line that the agent overwrites in place (omp/FORMAT.md E4)
  std::uint64_t head_end = 0;  // the head: from the slot to here
  std::uint64_t head = 0;
  std::uint64_t tail_from = 0;  // the tail: from here to where the scan resumes
  std::uint64_t tail = 0;

  /// `slot_end` is 0 for a log without a slot. Errors: io, interrupted.
  static Result<GrowthFingerprint> of(LogWindow& window, std::uint64_t slot_end, std::uint64_t resume);
  /// That of the log after it has grown: does not reread bytes that cannot have changed, and keeps the slot's hash.
  [[nodiscard]] Result<GrowthFingerprint> after_growth(LogWindow& window, std::uint64_t slot_end,
                                                       std::uint64_t resume) const;
  /// True if both are of the same bytes, apart from the slot.
  [[nodiscard]] bool has_same_bytes(const GrowthFingerprint& other) const {
    return head == other.head && tail == other.tail;
  }
};

}  // namespace arborfs
