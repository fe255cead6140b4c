// Where Codex can go back to: the ends of turns (codex/FORMAT.md C3, C4, H5). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/formats/codex/segments_log.h"
#include "core/log/log_index.h"

namespace arborfs::codex {

/// The end of a turn of a paginated thread.
struct TurnEnd {
  std::string segment;
  bool is_own = true;         // the segment is the thread's own
  bool is_last = false;       // no turn follows in the segment
  std::uint64_t ordinal = 0;  // of the first record after it
  std::uint64_t offset = 0;   // of that record, in the segment's file
};

/// The bytes of an entry in a thread; nothing for the root.
struct EntryPlace {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// The turn that ends with this entry. Errors: invalid_argument if more of the conversation follows in its turn; those
/// of reading.
Result<TurnEnd> turn_end(const SegmentsLog& thread, const std::optional<EntryPlace>& entry);

/// What a segment's first line has under "payload", with another base.
std::string payload_based_on(std::string payload, const TurnEnd& from);
/// The same, of a segment of the thread that goes on from there. Errors: those of reading.
Result<std::string> segment_payload(const SegmentsLog& thread, const TurnEnd& from);

/// How many turns a legacy thread drops so that this entry is its leaf, kNoEntry for none. Errors: invalid_argument if
/// the entry is not on the path to the leaf, or if its turn goes on after it.
Result<std::uint64_t> turns_after(const LogIndex& index, Ordinal leaf, Ordinal entry);

}  // namespace arborfs::codex
