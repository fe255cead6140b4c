// What stands at the head of a log: the title slot of the younger generation and the session's header, its version
// and what follows from that (omp/FORMAT.md E2 to E10, A12). Pure functions but for the reading; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/log/log_index.h"
#include "core/log/log_window.h"

namespace arborfs {

struct TitleSlot {
  std::string title;
  std::string source;  // "" for none
};

/// The slot that is the log's first line, with or without BOM and line feed (omp/FORMAT.md E3).
std::optional<TitleSlot> parse_title_slot_line(std::string_view line);

struct LogHead {
  std::optional<TitleSlot> slot;
  std::uint64_t slot_end = 0;  // behind the slot's line feed: where the records start
  bool may_be_slot = false;    // the first line is not ended and may turn out to be one
};

/// Looks for a slot in the first physical line; 13's rules know none.
Result<LogHead> read_head(LogWindow& window, std::optional<Dialect> dialect);

/// The header and what its version asks for.
struct SessionHeader {
  Header header;
  bool gives_ids = false;  // version 1: ids and parents are made up (omp/FORMAT.md E9)
};

/// The header for a log without any record.
Header missing_header(bool has_slot);

/// The header that the log's first value makes, after slot and migration; invalid when it is none. `offset` and the
/// length of `json` are noted in it.
SessionHeader make_header(std::string_view json, std::uint64_t offset, const std::optional<TitleSlot>& slot);

/// make_header for a value that is read from the log now. Errors: those of the window.
Result<SessionHeader> read_session_header(LogWindow& window, std::uint64_t offset, std::uint64_t length,
                                          const std::optional<TitleSlot>& slot);

}  // namespace arborfs
