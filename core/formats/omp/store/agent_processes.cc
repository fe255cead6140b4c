#include "core/formats/omp/store/agent_processes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "core/os/file.h"
#include "core/os/proc_entry.h"

namespace arborfs {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 13> kVariables = {
    "PI_CODING_AGENT_DIR", "PI_CONFIG_DIR",   "HOME",
    "XDG_STATE_HOME",      "ZELLIJ_PANE_ID",  "ZELLIJ_SESSION_NAME",
    "TMUX_PANE",           "CMUX_SURFACE_ID", "KITTY_WINDOW_ID",
    "WEZTERM_PANE",        "TERM_SESSION_ID", "WT_SESSION",
    "XDG_DATA_HOME"};
constexpr unsigned kMemoryDevices = 1;  // the major number of /dev/null and its like
/// For so long after it is first seen, each scan reads all that identifies a process.
constexpr auto kNew = kRecheckedAfter;
/// For so long after it is first seen, a process may still become an agent, by exec or by opening a database.
constexpr auto kYoung = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kDescriptorsRemembered{10'000};

bool is_agent_name(std::string_view file) {
  const std::string_view name = proc::program_name(file);
  return name == "omp" || name.starts_with("omp-") || name == "pi";
}

/// The agent's name if the script is `omp` or `pi`, with or without an extension, or in `pi-coding-agent/`; else "".
std::string agent_of_script(const std::string& path) {
  const std::string_view name = proc::last_component(path);
  const std::string_view stem = name.substr(0, name.find('.'));
  if (stem == "omp" || stem == "pi") {
    return std::string(stem);
  }
  return ("/" + path).find("/pi-coding-agent/") != std::string::npos ? "pi-coding-agent" : "";
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

std::vector<std::string> databases_of(long pid) {
  std::vector<std::string> folders;
  const auto descriptors = Dir::open_root("/proc/" + std::to_string(pid) + "/fd");
  if (!descriptors) {
    return folders;
  }
  const auto entries = descriptors->list();
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>()) {
    const std::string path = proc::link_target(descriptors->fd(), entry.name);
    const std::string_view name = proc::last_component(path);
    if (std::find(kAgentDatabases.begin(), kAgentDatabases.end(), name) == kAgentDatabases.end()) {
      continue;
    }
    std::string folder = path.substr(0, path.size() - name.size() - 1);
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

/// The facts about a process that are remembered between scans.
struct Seen {
  explicit Seen(Clock::time_point when) : first(when) {}
  Clock::time_point first;
  Clock::time_point descriptors_read{};  // never
  bool is_candidate = false;             // it may be an agent: describe() decides
  std::string executable;
  std::string comm;
  std::vector<std::string> databases;
};

/// Reads the number of the most recently started process or thread of this machine from /proc/loadavg, which stays
/// open.
class LastNumber {
 public:
  explicit LastNumber(int proc);
  /// Nothing if another program serves that file, as in some containers, or if /proc shows another set of processes
  /// than the one this process belongs to.
  [[nodiscard]] std::optional<long> read() const;

 private:
  UniqueFd file_;
};

LastNumber::LastNumber(int proc) {
  UniqueFd file(proc::link_target(proc, "self") == std::to_string(::getpid())
                    ? ::openat(proc, "loadavg", O_RDONLY | O_CLOEXEC)
                    : -1);
  struct stat folder {};
  struct stat found {};
  if (file && ::fstat(proc, &folder) == 0 && ::fstat(file.get(), &found) == 0 && folder.st_dev == found.st_dev) {
    file_ = std::move(file);
  }
}

std::optional<long> LastNumber::read() const {
  std::array<char, 128> text{};
  const ssize_t got = file_ ? ::pread(file_.get(), text.data(), text.size(), 0) : 0;
  std::string_view line(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  line = line.substr(line.rfind(' ') + 1);
  long number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number > 0 ? std::optional(number) : std::nullopt;
}

struct OpenProc {
  explicit OpenProc(Dir opened) : folder(std::move(opened)), last_number(folder.fd()) {}
  Dir folder;
  LastNumber last_number;
};

/// The processes of this user. A scan lists them all if one has started since the last scan, and in any case every
/// kRecheckedAfter: the kernel gives a process its number a moment before it shows it. The scan reads the executable
/// and name of new processes and of candidates, of young ones whose executable is another one now, and of all processes
/// every kRecheckedAfter.
class ProcessTable {
 public:
  std::vector<AgentProcess> look(std::chrono::milliseconds max_age, bool databases_in_use);

 private:
  void identify(int proc, long pid, Seen& seen, Clock::time_point now, bool databases_in_use) const;
  static std::optional<AgentProcess> describe(int proc, long pid, const Seen& seen);
  static bool may_have_changed(int proc, long pid, const Seen& seen, Clock::time_point now);
  std::vector<AgentProcess> look_locked(Clock::time_point now, bool databases_in_use);
  bool list(const Dir& proc, Clock::time_point first);

  std::mutex mutex_;              // a leaf; guards everything below
  std::optional<OpenProc> proc_;  // from the first scan on
  std::map<long, Seen> seen_;
  std::optional<long> last_number_;  // at the last list
  Clock::time_point all_checked_{};
  Clock::time_point looked_{};       // when the last scan began
  std::vector<AgentProcess> found_;  // by the last scan
  bool found_by_databases_ = false;  // also those that have an agent's database open
};

void ProcessTable::identify(int proc, long pid, Seen& seen, Clock::time_point now, bool databases_in_use) const {
  const UniqueFd process = proc::open_process(proc, pid);
  std::string executable(proc::last_component(proc::link_target(process.get(), "exe")));
  struct stat st {};
  if (executable.empty() || ::fstat(process.get(), &st) != 0 || st.st_uid != ::geteuid()) {
    seen = Seen(seen.first);  // a kernel thread, a zombie, or another user's process
    return;
  }
  std::string comm = proc::comm_of(process.get());
  if (executable != seen.executable || comm != seen.comm) {
    seen = Seen(seen.executable.empty() ? seen.first : now);
    seen.executable = std::move(executable);
    seen.comm = std::move(comm);
  }
  const bool runs_scripts = proc::is_interpreter(seen.executable) || proc::is_interpreter(seen.comm);
  const bool is_named = is_agent_name(seen.comm) || is_agent_name(seen.executable);
  const bool is_arborfs = seen.executable == "arborfs";  // it has a history open now and then
  const auto remembered = now - seen.first < kYoung ? kRecheckedAfter : kDescriptorsRemembered;
  const bool is_due = now - seen.descriptors_read >= remembered;
  const bool may_be_agent = databases_in_use && !is_arborfs;
  if (is_named ? seen.databases.empty() : may_be_agent && (is_due || (runs_scripts && seen.databases.empty()))) {
    seen.databases = databases_of(pid);
    seen.descriptors_read = now;
  }
  seen.is_candidate = is_named || runs_scripts || !seen.databases.empty();
}

std::optional<AgentProcess> ProcessTable::describe(int proc, long pid, const Seen& seen) {
  const UniqueFd process = proc::open_process(proc, pid);
  AgentProcess agent;
  agent.pid = pid;
  agent.program = is_agent_name(seen.comm) || !is_agent_name(seen.executable) ? seen.comm : seen.executable;
  agent.has_agent_name = is_agent_name(agent.program);
  agent.arguments = proc::arguments_of(process.get());
  if (agent.arguments.empty()) {  // not an agent yet
    return std::nullopt;
  }
  std::size_t skipped = 1;
  const bool runs_scripts = proc::is_interpreter(seen.executable) || proc::is_interpreter(seen.comm);
  const std::size_t script = runs_scripts ? proc::find_script(agent.arguments) : agent.arguments.size();
  if (script < agent.arguments.size()) {
    skipped = script + 1;
    if (std::string name = agent_of_script(agent.arguments[script]); !name.empty()) {
      agent.program = std::move(name) + " under " + seen.executable;
      agent.has_agent_name = true;
    }
  }
  if (!agent.has_agent_name && seen.databases.empty()) {
    return std::nullopt;
  }
  const auto ticks = proc::start_ticks(process.get());
  agent.cwd = proc::link_target(process.get(), "cwd");
  agent.arguments.erase(agent.arguments.begin(), agent.arguments.begin() + static_cast<std::ptrdiff_t>(skipped));
  agent.environment = proc::environment_of(process.get(), kVariables);
  agent.terminal = terminal_of(process.get());
  // A process that exits loses its memory first, and with it its environment and the link to its program.
  const bool has_ended = !ticks || agent.cwd.empty() || proc::link_target(process.get(), "exe").empty();
  if (has_ended) {
    return std::nullopt;
  }
  agent.started_ns = proc::since_1970(*ticks);
  agent.databases = seen.databases;
  return agent;
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
      seen_.emplace(pid, Seen(first));
    }
  }
  return static_cast<bool>(entries);
}

bool ProcessTable::may_have_changed(int proc, long pid, const Seen& seen, Clock::time_point now) {
  if (seen.is_candidate || now - seen.first < kNew) {
    return true;
  }
  return now - seen.first < kYoung &&
         proc::last_component(proc::link_target(proc, std::to_string(pid) + "/exe")) != seen.executable;
}

std::vector<AgentProcess> ProcessTable::look_locked(Clock::time_point now, bool databases_in_use) {
  if (!proc_) {
    auto opened = Dir::open_root("/proc");
    if (!opened) {
      return {};
    }
    proc_.emplace(*std::move(opened));
  }
  const Dir& proc = proc_->folder;
  const bool all = now - all_checked_ >= kRecheckedAfter;
  const auto last = proc_->last_number.read();  // before the list: processes that start meanwhile are looked for again
  if (all || !last || last != last_number_) {
    last_number_.reset();                                                   // stays so if the list fails
    if (list(proc, looked_ == Clock::time_point() ? now - kYoung : now)) {  // at the first scan most are not young
      last_number_ = last;
    }
  }
  std::vector<AgentProcess> found;
  for (auto& [pid, seen] : seen_) {
    if (all || may_have_changed(proc.fd(), pid, seen, now)) {
      identify(proc.fd(), pid, seen, now, databases_in_use);
    }
    if (auto agent = seen.is_candidate ? describe(proc.fd(), pid, seen) : std::nullopt) {
      found.push_back(std::move(*agent));
    }
  }
  all_checked_ = all ? now : all_checked_;
  return found;
}

/// Callers that wait for the mutex share a scan.
std::vector<AgentProcess> ProcessTable::look(std::chrono::milliseconds max_age, bool databases_in_use) {
  const auto oldest = Clock::now() - max_age;
  const std::lock_guard lock(mutex_);
  const bool serves = looked_ != Clock::time_point() && looked_ >= oldest && found_by_databases_ >= databases_in_use;
  if (!serves) {
    const auto now = Clock::now();
    found_ = look_locked(now, databases_in_use);
    looked_ = now;
    found_by_databases_ = databases_in_use;
  }
  return found_;
}

ProcessTable& processes() {
  static ProcessTable table;
  return table;
}

}  // namespace

std::vector<AgentProcess> find_agents(std::chrono::milliseconds max_age, bool databases_in_use) {
  return processes().look(max_age, databases_in_use);
}

}  // namespace arborfs
