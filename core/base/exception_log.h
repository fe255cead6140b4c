// What was thrown where nothing may be thrown on: in a thread of the daemon, in a callback of libfuse. It means a bug
// or that memory ran out, or that no thread can be had.
#pragma once

#include <string_view>

namespace arborfs {

/// Called in a catch block: the log gets what was thrown while `doing`, or less when there is no memory for it.
void log_exception(std::string_view doing) noexcept;
/// The same; the errno of what was thrown: ENOMEM, what a system call gave, else EIO.
int errno_of_thrown(std::string_view doing) noexcept;

}  // namespace arborfs
