// The daemon's own log: what went wrong and where, in words; never the content of a session, nor a title, a label or an
// argument (FAILURES.md S13). Callable from any thread. Nothing is written before open_log.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace arborfs {

enum class LogLevel { error, warning, info, debug };

/// Call it before other threads start. "" means standard error; a file is made with mode 0600 and appended to. Errors:
/// invalid_argument when `path` is no regular file (nor /dev/null), those of opening the file.
Result<void> open_log(const std::string& path, LogLevel level);
/// One line: what is no printable ASCII is written as \xNN, since names of a store's files may hold anything and the
/// line may go to a terminal (FAILURES.md S4).
void write_log(LogLevel level, std::string_view message);

}  // namespace arborfs
