// Rewrites a log with another header or title slot and keeps every other byte; migrates a log of version 1 or 2 in the
// process (CONTRACT.md 6.5). Reads one state of a session; the caller checks afterwards that no other program changed
// the log meanwhile (LogWriter::verify). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/catalog.h"
#include "core/store/log_writer.h"

namespace arborfs {

/// Succeeds if arborfs may write to the log. Errors: read_only, with the reason in words (CONTRACT.md 6.3): no header,
/// a version above 3, UTF-16.
Result<void> check_writable(const Session::Guard& guard);

/// Makes the header's new text (JSON without line feed) from the present one.
using HeaderChange = std::function<Result<std::string>(std::string_view present)>;

/// The changes that a rewrite makes. The defaults change nothing.
struct LogChanges {
  HeaderChange header;
  std::string_view slot;  // replaces the title slot, whatever its length
  std::string_view tail;  // whole lines to append
};

/// The state of the log that a draft was copied from.
struct CopiedLog {
  FileStat stat;
  bool may_grow = false;  // bytes appended to the log later may be copied to the draft unchanged
};

/// Writes the session's log to `draft` with these changes. Errors: stale if the log was replaced meanwhile or no longer
/// has a slot to change, read_only, too_large (header), io, no_space.
Result<CopiedLog> write_log_anew(const Session& session, const LogChanges& changes, LogDraft& draft);

/// True if `slot` can overwrite the log's first line, because that is a title slot of the same length. Reads the log.
/// Errors: io.
Result<bool> fits_in_place(const LogSource& log, std::string_view slot);

/// Replaces the bytes from `offset` up to `end` with `text`.
struct LogEdit {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::string text;
};

/// Writes the session's log to `draft` with these edits, which are in order and do not overlap, and keeps every other
/// byte. Errors: stale if the log was replaced meanwhile, io, no_space.
Result<CopiedLog> write_log_edited(const Session& session, const std::vector<LogEdit>& edits, LogDraft& draft);

/// The text to write between a log's end and the next line: nothing, a line feed, or a line feed and a line that ends
/// an open bracket, which would swallow the following lines (omp/FORMAT.md A5, B1). Errors: io.
Result<std::string> lead_for(const LogSource& log, const std::vector<Damage>& damage, std::uint64_t size);

}  // namespace arborfs
