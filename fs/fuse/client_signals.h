// Checks whether the process behind a request is being killed. The kernel reports every signal to a waiting process in
// the same way; only a deadly one may end a stat or a readdir, whose callers do not expect EINTR.
#pragma once

#include <sys/types.h>

namespace arborfs {

/// True if the thread `tid` has a pending signal, which it does not block, that asks it to stop (KILL, INT, TERM, HUP,
/// QUIT), if it is gone, or if it cannot be seen from here. Reads /proc; false if no descriptors are left for that, so
/// ask again later. Any thread.
bool is_asked_to_stop(pid_t tid);

/// True if the process of `tid` is being killed or is gone. A deadly signal without a handler shows as SIGKILL. False
/// for a client without a number here (from another pid namespace).
bool is_killed(pid_t tid);

}  // namespace arborfs
