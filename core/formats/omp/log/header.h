// The head of a log: the title slot of the younger generation, the session's header, and the consequences of its
// version (omp/FORMAT.md E2 to E10, A12). Pure functions, except those that read from a window; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/log/dialect.h"
#include "core/log/log_index.h"
#include "core/log/log_window.h"

namespace arborfs {

struct TitleSlot {
  std::string title;
  std::string source;  // "" for none
};

/// The title slot in a log's first line, if it is one, with or without BOM and line feed (omp/FORMAT.md E3).
std::optional<TitleSlot> parse_title_slot_line(std::string_view line);

struct LogHead {
  std::optional<TitleSlot> slot;
  std::uint64_t slot_end = 0;  // just past the slot's line feed: where the records start
  bool may_be_slot = false;    // the first line has no line feed yet and may still become a slot
};

/// Looks for a slot in the first physical line; there is none by the rules of omp13. Errors: those of the window.
Result<LogHead> read_head(LogWindow& window, std::optional<Dialect> dialect);

struct SessionHeader {
  Header header;
  bool gives_ids = false;  // version 1: ids and parents are generated (omp/FORMAT.md E9)
};

/// Puts the name that a session_info gives into a header and its JSON; "" removes the title.
void set_name(Header& header, const std::string& name);

/// The (invalid) header for a log without any record.
Header missing_header(bool has_slot);

/// Makes the header from the log's first value, applying slot and migration; invalid if that value is not a header.
/// `offset` and the length of `json` are stored in it.
SessionHeader make_header(std::string_view json, std::uint64_t offset, const std::optional<TitleSlot>& slot);

/// The same for a value that is read from the log. Errors: those of the window.
Result<SessionHeader> read_session_header(LogWindow& window, std::uint64_t offset, std::uint64_t length,
                                          const std::optional<TitleSlot>& slot);

}  // namespace arborfs
