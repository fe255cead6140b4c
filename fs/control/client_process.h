// Facts from /proc about the processes that use the mount. Never enters a mount: links are read, not followed. No
// state; any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace arborfs {

/// The process of a thread; 0 if it is gone or /proc does not show it.
pid_t thread_group_of(pid_t tid);

/// Number and start time of a process, which distinguish two processes with the same number; 0 if it is gone.
std::uint64_t identity_of(pid_t tgid);

/// True for a path that is meant.
using IsPath = std::function<bool(std::string_view path)>;
/// The number of a process's descriptors whose path is meant. Empty if that cannot be read; SIZE_MAX if the
/// reason is that this process has no descriptor or memory left to look: there may be any number.
std::optional<std::size_t> open_links(pid_t tgid, const IsPath& is_path);

/// True if the thread is exiting because a signal killed its process. When a process exits by itself, its other threads
/// look the same except for the exit code, which is checked where this process may read it.
bool is_killed_by_signal(pid_t tid);

}  // namespace arborfs
