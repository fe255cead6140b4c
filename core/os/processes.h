// Checks what other processes of this user are doing, with /proc and leases. Changes nothing; any thread.
#pragma once

#include <chrono>
#include <functional>

#include "core/os/file.h"

namespace arborfs {

/// Longer than a program keeps a log open or locked for one write.
inline constexpr std::chrono::milliseconds kLongestWrite{100};

/// True if `seen` stays true for `patience`. Calls it repeatedly until then: a file that another process holds open for
/// just one write should not be reported.
bool is_lasting(const std::function<bool()>& seen, std::chrono::milliseconds patience);

/// True if another process has this file open for writing for at least `patience`. The kernel refuses a read lease
/// exactly then, and for the moment in which another lease is being given back (FAILURES.md P1). Where the file system
/// has no leases, searches /proc/*/fd of this user's processes. During the check, any process that opens the file for
/// writing with O_NONBLOCK gets EWOULDBLOCK. This process must ignore SIGIO, which a broken lease sends.
bool is_open_for_writing(const File& file, std::chrono::milliseconds patience);

/// True if a read lease shows at once that no process has the file open for writing. False if leases do not work there.
bool is_surely_not_open_for_writing(const File& file);

/// False for a zombie too: it no longer holds anything.
bool is_process_alive(long pid);

}  // namespace arborfs
