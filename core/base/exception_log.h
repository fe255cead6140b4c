// Logs exceptions where none may propagate: at the top of a daemon thread, or in a libfuse callback. Such an exception
// means a bug, that memory ran out, or that a thread could not be started.
#pragma once

#include <string_view>

namespace arborfs {

/// Call it in a catch block. Logs `doing` and the current exception; logs nothing if there is no memory for the line.
void log_exception(std::string_view doing) noexcept;
/// The same, and returns an errno for the exception: ENOMEM, the code of a std::system_error, else EIO.
int errno_of_thrown(std::string_view doing) noexcept;

}  // namespace arborfs
