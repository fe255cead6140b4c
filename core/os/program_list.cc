#include "core/os/program_list.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

#include "core/os/file.h"
#include "core/os/proc_entry.h"

namespace arborfs {

namespace {

using Clock = std::chrono::steady_clock;

/// Nothing for a kernel thread, a zombie, and a process of another user.
std::optional<RunningProgram> program_at(int proc, long pid) {
  const UniqueFd process = proc::open_process(proc, pid);
  struct stat st {};
  if (!process || ::fstat(process.get(), &st) != 0 || st.st_uid != ::geteuid()) {
    return std::nullopt;
  }
  RunningProgram program{pid, "", std::string(proc::last_component(proc::link_target(process.get(), "exe"))), ""};
  if (program.executable.empty()) {
    return std::nullopt;
  }
  program.name = proc::comm_of(process.get());
  if (proc::is_interpreter(program.name) || proc::is_interpreter(program.executable)) {
    const auto arguments = proc::arguments_of(process.get());
    const std::size_t script = proc::find_script(arguments);
    program.script = script < arguments.size() ? arguments[script] : "";
  }
  return program;
}

ProgramList list_programs() {
  auto found = std::make_shared<std::vector<RunningProgram>>();
  const auto proc = Dir::open_root("/proc");
  const auto entries = proc ? proc->list() : Result<std::vector<DirEntry>>(proc.error());
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    long pid = 0;
    const char* const end = entry.name.data() + entry.name.size();
    if (std::from_chars(entry.name.data(), end, pid).ptr != end || pid <= 0 || pid == ::getpid()) {
      continue;
    }
    if (auto program = program_at(proc->fd(), pid)) {
      found->push_back(*std::move(program));
    }
  }
  return found;
}

/// Callers that wait for the mutex share a list that was begun after they called.
class SharedList {
 public:
  ProgramList get(std::chrono::milliseconds max_age) {
    const auto oldest = Clock::now() - max_age;
    const std::lock_guard lock(mutex_);
    if (!list_ || begun_ < oldest) {
      begun_ = Clock::now();
      list_ = list_programs();
    }
    return list_;
  }

 private:
  std::mutex mutex_;  // a leaf; guards everything below
  Clock::time_point begun_{};
  ProgramList list_;
};

}  // namespace

ProgramList running_programs(std::chrono::milliseconds max_age) {
  static SharedList list;
  return list.get(max_age);
}

std::optional<ProgramFacts> look_at(const RunningProgram& program, std::span<const std::string_view> variables) {
  const auto proc = Dir::open_root("/proc");
  const UniqueFd process = proc::open_process(proc ? proc->fd() : -1, program.pid);
  const auto ticks = proc::start_ticks(process.get());
  ProgramFacts facts;
  facts.cwd = proc::link_target(process.get(), "cwd");
  facts.arguments = proc::arguments_of(process.get());
  if (facts.arguments.empty()) {
    return std::nullopt;
  }
  facts.environment = proc::environment_of(process.get(), variables);
  std::size_t own = 1;
  if (!program.script.empty()) {
    own = proc::find_script(facts.arguments) + 1;
  }
  own = std::min(own, facts.arguments.size());
  facts.arguments.erase(facts.arguments.begin(), facts.arguments.begin() + static_cast<std::ptrdiff_t>(own));
  // A process that exits loses its memory first, and with it its environment and the link to its program.
  if (!ticks || facts.cwd.empty() || proc::link_target(process.get(), "exe").empty()) {
    return std::nullopt;
  }
  facts.start_ticks = *ticks;
  facts.started_ns = proc::since_1970(*ticks);
  return facts;
}

}  // namespace arborfs
