// The facts about a session for a listing: its ids, title, working directory and time (claude/FORMAT.md D).
// Thread-safe.
#pragma once

#include "core/log/log_index.h"
#include "core/log/log_source.h"

namespace arborfs::claude {

/// Reads at most the first and the last 64 KiB. metadata() of the log is a title that stands elsewhere
/// (outside_titles.h). Errors: io.
Result<Header> read_session_head(const LogSource& log);

}  // namespace arborfs::claude
