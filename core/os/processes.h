// What other processes of this user are, and what they do with files. Only reads; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/os/file.h"

namespace arborfs::proc {

// The facts about one process in /proc. Only reads, and accesses no file system but /proc: a path of another process
// may lead through the mount that this process serves, or through a dead one. Facts that cannot be read are empty. Any
// thread.

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

namespace arborfs {

// The programs that run on this machine for this user, from /proc. All callers share one list. For each process it has
// only the facts that distinguish programs; a caller gets more about the ones that it needs with look_at. Only reads,
// and accesses no file system but /proc: a path of another process may lead through the mount that this process serves,
// or through a dead one. Any thread.

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

// Checks what other processes of this user are doing, with /proc and leases. Changes nothing; any thread.

/// Longer than a program keeps a log open or locked for one write.
inline constexpr std::chrono::milliseconds kLongestWrite{100};

/// True if `seen` stays true for `patience`. Calls it repeatedly until then: a file that another process holds open for
/// just one write should not be reported.
bool is_lasting(const std::function<bool()>& seen, std::chrono::milliseconds patience);

/// True if another process has this file open for writing for at least `patience`. The kernel refuses a read lease
/// exactly then, and for the moment in which another lease is being given back (FAILURES.md P1). Where the file system
/// has no leases, searches /proc/*/fd of this user's processes. During the check, any process that opens the file for
/// writing with O_NONBLOCK gets EWOULDBLOCK. This process must ignore SIGIO, which a broken lease sends.
bool is_open_for_writing(const File& file, std::chrono::milliseconds patience);

/// True if a read lease shows at once that no process has the file open for writing. False if leases do not work there.
bool is_surely_not_open_for_writing(const File& file);

/// False for a zombie too: it no longer holds anything.
bool is_process_alive(long pid);

// Locks that processes hold, from /proc/locks. Probing by taking the lock would make another process fail that tries to
// take it at the same moment. Any thread.

/// The inode numbers of the files on which other processes that this one can see took flock(2) locks that are still
/// held. Files are distinguished by inode number, because some file systems report another device here than stat(2)
/// does.
std::set<std::uint64_t> inodes_flocked_elsewhere();
/// A process that holds such a lock on the file; nothing if none does, 0 if it is in another namespace of processes.
std::optional<long> flock_holder_elsewhere(const FileStat& file);

}  // namespace arborfs
