// The facts about one process in /proc. Only reads, and accesses no file system but /proc: a path of another process
// may lead through the mount that this process serves, or through a dead one. Facts that cannot be read are empty. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.h"

namespace arborfs::proc {

/// The folder of a process, for access to its files; `proc` is a descriptor of /proc. Invalid if the process is gone.
UniqueFd open_process(int proc, long pid);

/// Where the link leads, without the kernel's note that the file was deleted.
std::string link_target(int folder, const std::string& name);

/// At most `most` bytes of the file.
std::string text_of(int folder, const std::string& name, std::size_t most);

/// The name of the process, as other programs see it. It may be another than that of its executable.
std::string comm_of(int process);

/// Its command line; the first one is the program as it was called. Empty while the kernel still loads the program,
/// which already has its name then, but shows no environment yet.
std::vector<std::string> arguments_of(int process);

/// Those of the variables that were set when it started.
std::map<std::string, std::string> environment_of(int process, std::span<const std::string_view> variables);

/// Clock ticks between boot and the start of the process; nothing if the process is gone.
std::optional<std::uint64_t> start_ticks(int process);

/// The same as nanoseconds since 1970, never later than the actual start.
std::int64_t since_1970(std::uint64_t ticks);

/// The name of a program without what installers add to it: `bun` for `bun.exe`, which npm's package has on every
/// system, and for `.bun-wrapped` (Nix).
std::string_view program_name(std::string_view file);
/// True for the programs that run JavaScript, whatever their version or build: bun, node22, bun-profile.
bool is_interpreter(std::string_view name);

/// The index of the script among the arguments of an interpreter; the number of arguments if there is none.
std::size_t find_script(const std::vector<std::string>& arguments);

/// The part after the last slash.
std::string_view last_component(std::string_view path);

}  // namespace arborfs::proc
