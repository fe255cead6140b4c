// The programs that run on this machine for this user, from /proc. All callers share one list. For each process it has
// only the facts that distinguish programs; a caller gets more about the ones that it needs with look_at. Only reads,
// and accesses no file system but /proc: a path of another process may lead through the mount that this process serves,
// or through a dead one. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs {

/// A process of this user. Stopped ones count, zombies do not.
struct RunningProgram {
  long pid = 0;
  std::string name;             // as other programs see it (comm)
  std::string executable;       // the last component of its path
  std::string script;           // the path that an interpreter of JavaScript runs; "" for other programs
  bool is_interpreter = false;  // of JavaScript
  std::chrono::steady_clock::time_point since{};  // it was first seen with this name and executable
  bool operator==(const RunningProgram&) const = default;
};

/// All but this process, in the order of their numbers.
using ProgramList = std::shared_ptr<const std::vector<RunningProgram>>;

/// The programs that run, by a look that began at most `max_age` ago. A process that becomes another program by exec
/// alone, long after its start, is noticed up to kProgramsRecheckedAfter later. One that has ended may be in the list:
/// look_at finds nothing about it.
ProgramList running_programs(std::chrono::milliseconds max_age);
inline constexpr std::chrono::milliseconds kProgramsRecheckedAfter{250};

/// Further facts about a program.
struct ProgramFacts {
  std::string cwd;
  std::vector<std::string> arguments;  // without the program and the script
  std::map<std::string, std::string> environment;
  std::string terminal;           // the device of descriptor 0, "" if that is not a terminal
  std::uint64_t start_ticks = 0;  // since boot, as /proc/<pid>/stat has it
  std::int64_t started_ns = 0;    // since 1970, never later than the actual start
};

/// Nothing if it has ended, or if the kernel still loads it.
std::optional<ProgramFacts> look_at(const RunningProgram& program, std::span<const std::string_view> variables);

}  // namespace arborfs
