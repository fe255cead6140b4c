#include "core/os/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/os/file.h"

namespace arborfs::proc {

namespace {

constexpr std::array<std::string_view, 3> kInterpreters = {"bun", "node", "nodejs"};
constexpr std::size_t kMostArguments = 64 * 1024;
constexpr std::size_t kMostEnvironment = 256 * 1024;
constexpr std::size_t kMostStat = 1024;
constexpr std::string_view kDeleted = " (deleted)";

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

std::int64_t clock_ns(clockid_t clock) {
  struct timespec now {};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

UniqueFd open_process(int proc, long pid) {
  return UniqueFd(::openat(proc, std::to_string(pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string link_target(int folder, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t got = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  std::string text(target.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (text.ends_with(kDeleted)) {
    text.resize(text.size() - kDeleted.size());
  }
  return text;
}

std::string text_of(int folder, const std::string& name, std::size_t most) {
  const UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(fd ? most : 0, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got <= 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::string comm_of(int process) {
  std::string comm = text_of(process, "comm", kMostStat);
  comm.resize(std::min(comm.size(), comm.find('\n')));
  return comm;
}

std::vector<std::string> arguments_of(int process) {
  return split_at_nul(text_of(process, "cmdline", kMostArguments));
}

std::map<std::string, std::string> environment_of(int process, std::span<const std::string_view> variables) {
  std::map<std::string, std::string> found;
  for (const std::string& text : split_at_nul(text_of(process, "environ", kMostEnvironment))) {
    const std::size_t equals = text.find('=');
    const std::string_view name = std::string_view(text).substr(0, equals);
    if (equals != std::string::npos && std::find(variables.begin(), variables.end(), name) != variables.end()) {
      found.emplace(name, text.substr(equals + 1));
    }
  }
  return found;
}

std::optional<std::uint64_t> start_ticks(int process) {
  constexpr int kFieldsBetween = 19;  // between the name's closing parenthesis and starttime
  const std::string stat = text_of(process, "stat", kMostStat);
  std::size_t at = stat.rfind(')');
  for (int field = 0; field <= kFieldsBetween && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  std::uint64_t ticks = 0;
  if (at == std::string::npos ||
      std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), ticks).ec != std::errc()) {
    return std::nullopt;
  }
  return ticks;
}

std::int64_t since_1970(std::uint64_t ticks) {
  static const std::int64_t a_tick = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + static_cast<std::int64_t>(ticks) * a_tick;
}

std::string_view program_name(std::string_view file) {
  constexpr std::string_view kEnding = ".exe";
  constexpr std::string_view kWrapped = "-wrapped";
  if (file.ends_with(kEnding)) {
    file.remove_suffix(kEnding.size());
  }
  if (file.starts_with('.') && file.ends_with(kWrapped)) {
    file.remove_prefix(1);
    file.remove_suffix(kWrapped.size());
  }
  return file;
}

bool is_interpreter(std::string_view name) {
  const std::string_view program = program_name(name);
  const std::string_view plain = program.substr(0, program.find_first_of("-0123456789"));
  return std::find(kInterpreters.begin(), kInterpreters.end(), plain) != kInterpreters.end();
}

std::size_t find_script(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 9> kWithValue = {
      "-r", "--require", "--import", "--loader", "--preload", "--env-file", "--cwd", "-C", "--conditions"};
  std::size_t at = 1;
  while (at < arguments.size()) {
    const std::string& word = arguments[at];
    if (std::find(kWithValue.begin(), kWithValue.end(), word) != kWithValue.end()) {
      at += 2;
    } else if (word.starts_with('-') || word == "run" || word == "x" || word == "exec") {
      ++at;
    } else {
      return at;
    }
  }
  return arguments.size();
}

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace arborfs::proc

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

namespace {

constexpr std::size_t kMostSaid = 1024;  // most bytes read from a file in /proc
constexpr auto kBetweenLooks = std::chrono::milliseconds(1);

long as_pid(const std::string& name) {
  long pid = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return failed == std::errc() && end == name.data() + name.size() ? pid : 0;
}

/// Empty if the folder has disappeared or may not be read.
std::vector<DirEntry> entries_of(const Result<Dir>& folder) {
  if (!folder) {
    return {};
  }
  auto entries = folder->list();
  return entries ? std::move(entries).value() : std::vector<DirEntry>();
}

std::string text_of(const Dir& folder, const std::string& name) {
  const auto file = File::open_in(folder, name);
  if (!file) {
    return "";
  }
  std::string text(kMostSaid, '\0');
  const auto got = file->read_at(0, text);
  text.resize(got ? *got : 0);
  return text;
}

bool is_own(const Dir& process) {
  const auto st = process.stat();
  return st && st->uid == ::getuid();
}

/// True if `wanted` is true for any other process of this user. `wanted` gets the pid and its folder in /proc.
template <class Wanted>
bool any_own_process(const Wanted& wanted) {
  const auto processes = Dir::open_root("/proc");
  for (const auto& entry : entries_of(processes)) {
    const long pid = as_pid(entry.name);
    if (pid <= 0 || pid == ::getpid()) {
      continue;
    }
    const auto folder = processes->open_in(entry.name);
    if (folder && is_own(*folder) && wanted(pid, *folder)) {
      return true;
    }
  }
  return false;
}

bool is_writable_descriptor(const Dir& process, const std::string& number) {
  constexpr std::string_view kKey = "flags:\t";
  const auto descriptors = process.open_in("fdinfo");
  const std::string info = descriptors ? text_of(*descriptors, number) : "";
  const std::size_t at = info.find(kKey);
  if (at == std::string::npos) {
    return false;
  }
  unsigned long flags = O_RDONLY;
  std::from_chars(info.data() + at + kKey.size(), info.data() + info.size(), flags, 8);
  return (flags & O_ACCMODE) != O_RDONLY;
}

/// Uses only data that the kernel already has: the file system may be the one that this process serves, or a dead one.
bool leads_to(const FileStat& wanted, const Dir& descriptors, const std::string& number) {
  struct statx st {};
  return ::statx(descriptors.fd(), number.c_str(), AT_STATX_DONT_SYNC, STATX_INO, &st) == 0 &&
         makedev(st.stx_dev_major, st.stx_dev_minor) == wanted.dev && st.stx_ino == wanted.ino;
}

bool has_open_for_writing(const Dir& process, const FileStat& wanted) {
  const auto descriptors = process.open_in("fd");
  const auto entries = entries_of(descriptors);
  return std::any_of(entries.begin(), entries.end(), [&](const DirEntry& entry) {
    return leads_to(wanted, *descriptors, entry.name) && is_writable_descriptor(process, entry.name);
  });
}

bool search_descriptors(const File& file) {
  const auto wanted = file.stat();
  return wanted &&
         any_own_process([&](long /*pid*/, const Dir& process) { return has_open_for_writing(process, *wanted); });
}

/// True if the process has ended and its parent has not reaped it. It is not a zombie while other threads of it run.
bool is_zombie(const Dir& process) {
  constexpr int kFieldsBetween = 17;  // between the state and the number of threads
  const std::string stat = text_of(process, "stat");
  std::size_t at = stat.rfind(')');
  if (at == std::string::npos || at + 2 >= stat.size() ||
      std::string_view("ZX").find(stat[at + 2]) == std::string_view::npos) {
    return false;
  }
  for (int field = 0; field <= kFieldsBetween && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  int threads = 0;
  if (at != std::string::npos) {
    std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), threads);
  }
  return threads <= 1;
}

bool seems_open_for_writing(const File& file) {
  return !is_surely_not_open_for_writing(file) && (errno == EAGAIN || search_descriptors(file));
}

}  // namespace

bool is_lasting(const std::function<bool()>& seen, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (seen()) {
    if (std::chrono::steady_clock::now() >= until) {
      return true;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return false;
}

bool is_open_for_writing(const File& file, std::chrono::milliseconds patience) {
  return is_lasting([&file] { return seems_open_for_writing(file); }, patience);
}

bool is_surely_not_open_for_writing(const File& file) {
  if (::fcntl(file.fd(), F_SETLEASE, F_RDLCK) != 0) {
    return false;
  }
  ::fcntl(file.fd(), F_SETLEASE, F_UNLCK);
  return true;
}

bool is_process_alive(long pid) {
  if (pid <= 0 || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM)) {
    return false;
  }
  const auto process = Dir::open_root("/proc/" + std::to_string(pid));
  return !process || !is_zombie(*process);
}

namespace {

struct Lock {
  std::uint64_t inode = 0;
  long process = 0;  // 0 if it is in another namespace
};

// A line is `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`. The second word of a process that waits is `->`.
std::vector<Lock> locks_elsewhere() {
  std::vector<Lock> found;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string advisory;
    std::string mode;
    long process = 0;
    std::string place;
    words >> number >> kind >> advisory >> mode >> process >> place;
    const char* const end = place.data() + place.size();
    std::uint64_t inode = 0;
    const auto [stopped, failed] = std::from_chars(place.data() + place.rfind(':') + 1, end, inode);
    if (kind == "FLOCK" && process != ::getpid() && failed == std::errc() && stopped == end) {
      found.push_back({inode, process});
    }
  }
  return found;
}

}  // namespace

std::set<std::uint64_t> inodes_flocked_elsewhere() {
  std::set<std::uint64_t> inodes;
  for (const Lock& lock : locks_elsewhere()) {
    inodes.insert(lock.inode);
  }
  return inodes;
}

std::optional<long> flock_holder_elsewhere(const FileStat& file) {
  for (const Lock& lock : locks_elsewhere()) {
    if (lock.inode == file.ino) {
      return lock.process;
    }
  }
  return std::nullopt;
}

}  // namespace arborfs
