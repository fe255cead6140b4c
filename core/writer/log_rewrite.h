// A log written anew with another header, every other byte as it was; a log of version 1 or 2 is migrated on the way
// (CONTRACT.md 6.5). Reads one state of a session; the caller makes sure afterwards that nobody changed it meanwhile
// (LogWriter::verify). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/catalog.h"
#include "core/store/log_writer.h"

namespace arborfs {

/// Why a log is never written to, in words (CONTRACT.md 6.3): no header, a version above 3, UTF-16. Success when it may
/// be.
Result<void> check_writable(const Session::Guard& guard);

/// Makes the header's new text (JSON without line feed) of the present one.
using HeaderChange = std::function<Result<std::string>(std::string_view present)>;

/// What a log that is written anew has otherwise. The defaults change nothing.
struct LogChanges {
  HeaderChange header;
  std::string_view slot;  // takes the title slot's place, whatever its length
  std::string_view tail;  // whole lines behind the log's end
};

/// The state of a log that a draft was written from.
struct CopiedLog {
  FileStat stat;
  bool may_grow = false;  // what is appended to the log later may follow in the draft as it is
};

/// Writes the session's log to `draft` with these changes. Errors: stale when it was replaced meanwhile or has no slot
/// to change any more, read_only, io, no_space.
Result<CopiedLog> write_log_anew(const Session& session, const LogChanges& changes, LogDraft& draft);

/// Whether `slot` can be written over the log's first line: that is a title slot of the same length now. Reads the log.
/// Errors: io.
Result<bool> fits_in_place(const LogFile& log, std::string_view slot);

/// Bytes of a log and what takes their place.
struct LogEdit {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::string text;
};

/// Writes the session's log to `draft` with these edits, which are in order and do not overlap; every other byte as it
/// was. Errors: stale when it was replaced meanwhile, io, no_space.
Result<CopiedLog> write_log_edited(const Session& session, const std::vector<LogEdit>& edits, LogDraft& draft);

/// What must stand between a log's end and the next line: nothing, a line feed, or a line feed and a line that ends an
/// open bracket, which would swallow what follows (omp/FORMAT.md A5, B1). Errors: io.
Result<std::string> lead_for(const LogFile& log, const std::vector<Damage>& damage, std::uint64_t size);

}  // namespace arborfs
