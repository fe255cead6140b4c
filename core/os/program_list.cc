#include "core/os/program_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <utility>

#include "core/os/file.h"
#include "core/os/proc_entry.h"

namespace arborfs {

namespace {

using Clock = std::chrono::steady_clock;

/// For so long after it is first seen, a process may become another program unnoticed by its executable.
constexpr auto kNew = kProgramsRecheckedAfter;
/// For so long after it is first seen, a process may still become another program by exec.
constexpr auto kYoung = std::chrono::seconds(2);
constexpr unsigned kMemoryDevices = 1;  // the major number of /dev/null and its like

/// Reads the number of the most recently started process or thread of this machine from /proc/loadavg, which stays
/// open.
class LastNumber {
 public:
  explicit LastNumber(int proc) {
    UniqueFd file(proc::link_target(proc, "self") == std::to_string(::getpid())
                      ? ::openat(proc, "loadavg", O_RDONLY | O_CLOEXEC)
                      : -1);
    struct stat folder {};
    struct stat found {};
    if (file && ::fstat(proc, &folder) == 0 && ::fstat(file.get(), &found) == 0 && folder.st_dev == found.st_dev) {
      file_ = std::move(file);
    }
  }
  /// Nothing if another program serves that file, as in some containers, or if /proc shows another set of processes
  /// than the one this process belongs to.
  [[nodiscard]] std::optional<long> read() const {
    std::array<char, 128> text{};
    const ssize_t got = file_ ? ::pread(file_.get(), text.data(), text.size(), 0) : 0;
    std::string_view line(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    line = line.substr(line.rfind(' ') + 1);
    long number = 0;
    std::from_chars(line.data(), line.data() + line.size(), number);
    return number > 0 ? std::optional(number) : std::nullopt;
  }

 private:
  UniqueFd file_;
};

struct OpenProc {
  explicit OpenProc(Dir opened) : folder(std::move(opened)), last_number(folder.fd()) {}
  Dir folder;
  LastNumber last_number;
};

/// The processes of this user. A look lists them all if one has started since the last look, and in any case every
/// kProgramsRecheckedAfter: the kernel gives a process its number a moment before it shows it. The look reads what
/// identifies new processes and interpreters, young ones whose executable is another one now, and all processes every
/// kProgramsRecheckedAfter. Where nothing has started, that is one read instead of four calls a process.
class ProcessTable {
 public:
  /// Callers that wait for the mutex share a look.
  ProgramList look(std::chrono::milliseconds max_age) {
    const auto oldest = Clock::now() - max_age;
    const std::lock_guard lock(mutex_);
    if (!list_ || looked_ < oldest) {
      const auto now = Clock::now();
      look_locked(now);
      looked_ = now;
    }
    return list_;
  }

 private:
  struct Seen {
    Clock::time_point first;
    RunningProgram program{};  // without an executable: a kernel thread, a zombie, or another user's process
  };

  void look_locked(Clock::time_point now);
  bool list(const Dir& proc, Clock::time_point first);
  static RunningProgram identify(int proc, long pid);
  static bool may_have_changed(int proc, long pid, const Seen& seen, Clock::time_point now);

  std::mutex mutex_;              // a leaf; guards everything below
  std::optional<OpenProc> proc_;  // from the first look on
  std::map<long, Seen> seen_;
  std::optional<long> last_number_;  // at the last list
  Clock::time_point all_checked_{};
  Clock::time_point looked_{};  // when the last look began
  ProgramList list_;            // of seen_; null before the first look
};

RunningProgram ProcessTable::identify(int proc, long pid) {
  const UniqueFd process = proc::open_process(proc, pid);
  struct stat st {};
  if (!process || ::fstat(process.get(), &st) != 0 || st.st_uid != ::geteuid()) {
    return {};
  }
  RunningProgram program;
  program.executable = proc::last_component(proc::link_target(process.get(), "exe"));
  if (program.executable.empty()) {
    return {};
  }
  program.pid = pid;
  program.name = proc::comm_of(process.get());
  program.is_interpreter = proc::is_interpreter(program.name) || proc::is_interpreter(program.executable);
  if (program.is_interpreter) {
    const auto arguments = proc::arguments_of(process.get());
    const std::size_t script = proc::find_script(arguments);
    program.script = script < arguments.size() ? arguments[script] : "";
  }
  return program;
}

bool ProcessTable::may_have_changed(int proc, long pid, const Seen& seen, Clock::time_point now) {
  if (seen.program.is_interpreter || now - seen.first < kNew) {
    return true;
  }
  return now - seen.first < kYoung &&
         proc::last_component(proc::link_target(proc, std::to_string(pid) + "/exe")) != seen.program.executable;
}

/// Lists the processes and keeps the known facts about those that still run. False if they cannot be listed.
bool ProcessTable::list(const Dir& proc, Clock::time_point first) {
  std::map<long, Seen> before;
  before.swap(seen_);
  const auto entries = proc.list();
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>()) {
    long pid = 0;
    const char* const end = entry.name.data() + entry.name.size();
    if (std::from_chars(entry.name.data(), end, pid).ptr != end || pid <= 0 || pid == ::getpid()) {
      continue;
    }
    if (auto known = before.extract(pid); !known.empty()) {
      seen_.insert(std::move(known));
    } else {
      seen_.emplace(pid, Seen{first});
    }
  }
  return static_cast<bool>(entries);
}

void ProcessTable::look_locked(Clock::time_point now) {
  if (!proc_) {
    if (auto opened = Dir::open_root("/proc")) {
      proc_.emplace(*std::move(opened));
    } else {
      list_ = std::make_shared<const std::vector<RunningProgram>>();
      return;
    }
  }
  const Dir& proc = proc_->folder;
  const bool all = now - all_checked_ >= kProgramsRecheckedAfter;
  const auto last = proc_->last_number.read();  // before the list: processes that start meanwhile are looked for again
  bool has_changed = !list_;
  if (all || !last || last != last_number_) {
    last_number_.reset();                           // stays so if the list fails
    if (list(proc, !list_ ? now - kYoung : now)) {  // at the first look most are not young
      last_number_ = last;
    }
    has_changed = true;
  }
  for (auto& [pid, seen] : seen_) {
    if (!all && !may_have_changed(proc.fd(), pid, seen, now)) {
      continue;
    }
    RunningProgram program = identify(proc.fd(), pid);
    const bool is_other = program.executable != seen.program.executable || program.name != seen.program.name;
    program.since = !is_other ? seen.program.since : seen.program.executable.empty() ? seen.first : now;
    seen.first = is_other && !seen.program.executable.empty() ? now : seen.first;
    has_changed = has_changed || program != seen.program;
    seen.program = std::move(program);
  }
  all_checked_ = all ? now : all_checked_;
  if (has_changed) {
    auto found = std::make_shared<std::vector<RunningProgram>>();
    for (const auto& [pid, seen] : seen_) {
      if (!seen.program.executable.empty()) {
        found->push_back(seen.program);
      }
    }
    list_ = std::move(found);
  }
}

std::string terminal_of(int process) {
  struct statx st {};
  if (::statx(process, "fd/0", AT_STATX_DONT_SYNC, STATX_TYPE, &st) != 0 || !S_ISCHR(st.stx_mode) ||
      st.stx_rdev_major == kMemoryDevices) {
    return "";
  }
  std::string path = proc::link_target(process, "fd/0");
  return path.starts_with("/dev/") ? path : "";
}

}  // namespace

ProgramList running_programs(std::chrono::milliseconds max_age) {
  static ProcessTable table;
  return table.look(max_age);
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
  facts.terminal = terminal_of(process.get());
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
