// Sends libfuse's messages, which it would print on standard error, to the daemon's log, one line each.
#pragma once

namespace arborfs {

/// `are_errors_said`: warnings and errors also go to standard error, where the user sees why a mount failed; for a log
/// that is not standard error itself. Call it once, before other threads start and after open_log.
void log_fuse_messages(bool are_errors_said);

}  // namespace arborfs
