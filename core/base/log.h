// The daemon's own log: which operation failed and why; never session content, titles, labels or arguments
// (FAILURES.md S13). Callable from any thread. Nothing is written before open_log.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace arborfs {

enum class LogLevel { error, warning, info, debug };

/// Call it before other threads start. "" means standard error; a file is created with mode 0600 and appended to.
/// Errors: invalid_argument if `path` is neither a regular file nor /dev/null, and the errors of opening the file.
Result<void> open_log(const std::string& path, LogLevel level);
/// Writes one line. Bytes that are not printable ASCII are written as \xNN: file names in a store may hold any byte,
/// and the line may go to a terminal (FAILURES.md S4).
void write_log(LogLevel level, std::string_view message);

// Logs exceptions where none may propagate: at the top of a daemon thread, or in a libfuse callback. Such an exception
// means a bug, that memory ran out, or that a thread could not be started.

/// Call it in a catch block. Logs `doing` and the current exception; logs nothing if there is no memory for the line.
void log_exception(std::string_view doing) noexcept;
/// The same, and returns an errno for the exception: ENOMEM, the code of a std::system_error, else EIO.
int errno_of_thrown(std::string_view doing) noexcept;

}  // namespace arborfs
