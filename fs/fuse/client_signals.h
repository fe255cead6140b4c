// Whether the process behind a request is being killed. The kernel announces every signal of a waiting process the same
// way; only a deadly one may end a stat or a readdir, whose callers do not expect EINTR.
#pragma once

#include <sys/types.h>

namespace arborfs {

/// True when the thread `tid` has a signal pending that asks it to stop (KILL, INT, TERM, HUP, QUIT), is gone, or
/// cannot be seen from here. Reads /proc; false when descriptors have run out, so it is to be asked again. Any thread.
bool is_asked_to_stop(pid_t tid);

/// Its process is being killed, or it is gone. A deadly signal that nobody handles shows as SIGKILL. False for a
/// client that has no number here (of another process namespace).
bool is_killed(pid_t tid);

}  // namespace arborfs
