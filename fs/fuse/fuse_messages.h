// What libfuse has to say, which it would print on standard error by itself: it goes to the daemon's log instead, a
// line each, as every other line there.
#pragma once

namespace arborfs {

/// `are_errors_said`: warnings and errors go to standard error too, where a mount that fails is told to who asked for
/// it; for a log that is elsewhere. Call it once, before other threads start and after open_log.
void log_fuse_messages(bool are_errors_said);

}  // namespace arborfs
