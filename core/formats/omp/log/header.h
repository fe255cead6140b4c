// The head of a log: the title slot of the younger generation, the session's header, the consequences of its version
// (omp/FORMAT.md E2 to E10, A12), and the name that a session of pi has. Pure functions, except those that read; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/log/dialect.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"

namespace arborfs::omp {

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

/// Puts the name that a session_info gives into a header and its JSON; "" removes the title.
void set_name(Header& header, const std::string& name);

/// The (invalid) header for a log without any record.
Header missing_header(bool has_slot);

/// Makes the header from the log's first value, applying slot and migration; invalid if that value is not a header.
/// `offset` and the length of `json` are stored in it.
Header make_header(std::string_view json, std::uint64_t offset, const std::optional<TitleSlot>& slot);

/// The same for a value that is read from the log. Errors: those of the window.
Result<Header> read_session_header(LogWindow& window, std::uint64_t offset, std::uint64_t length,
                                   const std::optional<TitleSlot>& slot);

/// Without a title slot and a title in the header, only pi gives sessions such an id (omp/FORMAT.md F2).
bool is_uuid(std::string_view id);

/// Longer session_info entries name nothing.
inline constexpr std::uint64_t kLongestNamingEntry = 64 << 10;

/// The name that the session_info entry at that place gives a session of pi, trimmed; "" if it has none (pi/FORMAT.md
/// C6). Errors: those of the window.
Result<std::optional<std::string>> read_session_name(LogWindow& window, std::uint64_t offset, std::uint64_t length);

/// The name in the last session_info of the log, found from its end without an index. Nothing if the last 4 MiB have
/// none: reading the head of a log must stay quick. Errors: io.
Result<std::optional<std::string>> find_session_name(const LogSource& log);

}  // namespace arborfs::omp
