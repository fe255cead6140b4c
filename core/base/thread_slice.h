// How the kernel schedules a thread.
#pragma once

namespace arborfs {

/// Requests a short time slice for the calling thread, so that the kernel runs it as soon as it wakes. Otherwise a
/// thread that wakes while another program is busy may wait some milliseconds for the next clock tick. Meant for
/// threads that do short work for a waiting client; a thread that wakes often would interrupt the program that it
/// serves. Has no effect before Linux 6.12.
void request_short_thread_slice();

/// From now on the calling thread runs, and accesses disks, only when no other program wants to, as far as the kernel
/// permits. It must hold no lock that another thread waits for.
void make_thread_idle();

}  // namespace arborfs
