// What /proc says about the processes that use the mount. Nothing of it reaches below a mount: links are read, never
// followed. No state; any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace arborfs {

/// The process that a thread belongs to; 0 when it is gone or may not be looked at.
pid_t thread_group_of(pid_t tid);

/// A process and when it started, by which two that had the same number are told apart; 0 when it is gone.
std::uint64_t identity_of(pid_t tgid);

/// How many descriptors of a process are open on a path that ends with `tail`. Nothing when that cannot be told;
/// SIZE_MAX when that is only because this process has no descriptor or memory left to look: there may be any number.
std::optional<std::size_t> open_links(pid_t tgid, std::string_view tail);

/// The thread is on its way out because a signal killed its process. Other threads of a process that exits by itself
/// look the same but for the exit code, which is asked for where it is shown to us.
bool is_killed_by_signal(pid_t tid);

}  // namespace arborfs
