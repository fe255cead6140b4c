// The title of a session of pi: the name of the last session_info entry (pi/FORMAT.md C6). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/log/log_index.h"
#include "core/log/log_window.h"

namespace arborfs {

/// Without a title slot and a title in the header, only pi gives sessions such an id (omp/FORMAT.md F2).
bool is_uuid(std::string_view id);

/// The name in the entry at that place, trimmed; "" if it has none. Errors: those of the window.
Result<std::optional<std::string>> read_session_name(LogWindow& window, std::uint64_t offset, std::uint64_t length);

/// Longer session_info entries name nothing.
inline constexpr std::uint64_t kLongestNamingEntry = 64 << 10;

/// The name in the last session_info of the log, found from its end without an index. Nothing if the last 4 MiB have
/// none: reading the head of a log must stay quick. Errors: io.
Result<std::optional<std::string>> find_session_name(const LogSource& log);

}  // namespace arborfs
