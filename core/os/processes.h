// What other processes of this user are doing, as far as /proc and leases tell. Reads only; any thread.
#pragma once

#include <chrono>
#include <functional>

#include "core/os/file.h"

namespace arborfs {

/// Is `seen` true, and stays so for `patience`? Asked again and again until then, for what others hold for one write
/// only is nothing to tell of.
bool is_lasting(const std::function<bool()>& seen, std::chrono::milliseconds patience);

/// Does another process have this file open for writing, for `patience` at least? A read lease is refused exactly then,
/// and for the moment in which another one is being given back (FAILURES.md P1); where the file system has no
/// leases, /proc/*/fd of the own user is searched. While it looks, an open for writing with O_NONBLOCK by anybody gets
/// EWOULDBLOCK. The process must ignore SIGIO, which a broken lease sends.
bool is_open_for_writing(const File& file, std::chrono::milliseconds patience);

/// Nobody has it open for writing, as far as a read lease tells at once; false where leases tell nothing.
bool is_surely_not_open_for_writing(const File& file);

/// False also for a zombie, which holds nothing any more.
bool is_process_alive(long pid);

}  // namespace arborfs
