// The programs that run on this machine for this user, from /proc. All callers share one list. For each process it has
// only the facts that distinguish programs; a caller gets more about the ones that it needs with look_at. Only reads.
// Any thread.
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
  std::string name;        // as other programs see it (comm)
  std::string executable;  // the last component of its path
  std::string script;      // the path that an interpreter of JavaScript runs; "" for other programs
};

/// All but this process.
using ProgramList = std::shared_ptr<const std::vector<RunningProgram>>;

/// The programs that run, from a list that was begun at most `max_age` ago. A program that starts while the list is
/// made may be missing.
ProgramList running_programs(std::chrono::milliseconds max_age);

/// Further facts about a program.
struct ProgramFacts {
  std::string cwd;
  std::vector<std::string> arguments;  // without the program and the script
  std::map<std::string, std::string> environment;
  std::uint64_t start_ticks = 0;  // since boot, as /proc/<pid>/stat has it
  std::int64_t started_ns = 0;    // since 1970, never later than the actual start
};

/// Nothing if it has ended, or if the kernel still loads it.
std::optional<ProgramFacts> look_at(const RunningProgram& program, std::span<const std::string_view> variables);

}  // namespace arborfs
