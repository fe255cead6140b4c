// How long a thread computes before others come to their turn.
#pragma once

namespace arborfs {

/// Asks for short turns for the calling thread: they come at once, where a thread that is woken beside a busy program
/// may else wait for the clock's next tick, some milliseconds. For threads that do little and that somebody waits for;
/// one that is woken often interrupts whom it works for. Of a kernel that does not know of it (before Linux 6.12)
/// nothing comes.
void request_short_thread_slice();

}  // namespace arborfs
