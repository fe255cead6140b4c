// arborfs-appends: measures writers that append lines to a file; each line takes open, write and close. The lines are
// user messages of 200 bytes. With --locked each is written under the lock that omp takes, and with --flock under one
// as goat takes it, as arborfs must do: no mount can do with less. With --store arborfs' library appends the lines, in
// this process, without a mount. Prints {"p50":µs,"p99":µs,"rate":appends a second};
// exits with 1 at the first call that fails.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/omp/store/log_change.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/write/writer.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "usage: arborfs-appends FILE TAG WRITERS COUNT [--sync] [--locked | --flock | --store AGENT=DIR]\n"
    "WRITERS processes append COUNT lines each; --sync: each with fdatasync(2) before close(2);\n"
    "--locked: each with the lock of omp held for open(2) and write(2);\n"
    "--flock: each with flock(2) of FILE.lock held for open(2) and write(2);\n"
    "--store: arborfs' library appends each to the only session of this store; FILE is not used.\n"
    "The content of a line begins with `TAG writer number `, both counted from 0.\n";
constexpr std::size_t kLine = 200;

struct Task {
  const char* file = nullptr;
  std::string tag;
  std::size_t writers = 0;
  std::size_t count = 0;
  bool sync = false;
  bool locked = false;
  bool flock = false;
  std::string_view store;  // <agent>=<folder>
};

std::string line_of(const Task& task, std::size_t writer, std::size_t number) {
  std::string line =
      R"({"role":"user","content":")" + task.tag + " " + std::to_string(writer) + " " + std::to_string(number) + " ";
  constexpr std::string_view kEnd = "\"}\n";
  line.resize(std::max(line.size(), kLine - kEnd.size()), '.');
  return line.append(kEnd);
}

/// The agents' lock of a log.
class Lock {
 public:
  explicit Lock(const std::string& log)
      : folder_path_(std::filesystem::absolute(log).parent_path()),
        name_(std::filesystem::path(log).filename()),
        folder_(arborfs::Dir::open_root(folder_path_)) {}
  bool take() {
    auto taken = folder_ ? arborfs::omp::FileLock::take(disk_, *folder_, folder_path_, name_, std::chrono::minutes(1))
                         : arborfs::Result<arborfs::omp::FileLock>(folder_.error());
    if (!taken) {
      std::fprintf(stderr, "arborfs-appends: %s\n", taken.error().message.c_str());
      return false;
    }
    held_.emplace(std::move(*taken));
    return true;
  }
  void release() { held_.reset(); }

 private:
  arborfs::Disk& disk_ = arborfs::Disk::real();
  std::string folder_path_;
  std::string name_;
  arborfs::Result<arborfs::Dir> folder_;
  std::optional<arborfs::omp::FileLock> held_;
};

/// Locks `<file>.lock` until the result is closed; -1 if that fails.
int take_flock(const char* file) {
  const int fd = ::open((std::string(file) + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 && ::flock(fd, LOCK_EX) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

bool append(const Task& task, const std::string& line, std::optional<Lock>& lock) {
  if (lock && !lock->take()) {
    return false;
  }
  const int flock_fd = task.flock ? take_flock(task.file) : -1;
  if (task.flock && flock_fd < 0) {
    std::perror("arborfs-appends: flock");
    return false;
  }
  const int fd = ::open(task.file, O_WRONLY | O_APPEND | O_CLOEXEC);
  bool done = fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (lock) {
    lock->release();
  }
  if (flock_fd >= 0) {
    ::close(flock_fd);
  }
  done = done && (!task.sync || ::fdatasync(fd) == 0);
  done = fd >= 0 && ::close(fd) == 0 && done;
  if (!done) {
    std::fprintf(stderr, "arborfs-appends: %s: %s\n", task.file, std::strerror(errno));
  }
  return done;
}

/// The only session of a store, without a mount.
class LibrarySession {
 public:
  explicit LibrarySession(std::string_view store) {
    const std::size_t equals = store.find('=');
    auto stores = arborfs::open_stores(
        {{std::string(store.substr(0, equals)), std::string(store.substr(equals + 1)), false}}, arborfs::Access::write);
    if (stores) {
      catalog_.emplace(*stores, "/", "");
      catalog_->rescan();
      writer_ = arborfs::make_writer(*catalog_, {});
    }
  }
  bool append(const std::string& line) {
    const auto view = catalog_ ? catalog_->view() : nullptr;
    const auto done = view == nullptr || view->by_id.empty()
                          ? arborfs::Result<arborfs::AppendResult>(arborfs::Errc::not_found, "the store has no session")
                          : writer_->append_text(view->by_id.begin()->second, {line, true, ""});
    if (!done) {
      std::fprintf(stderr, "arborfs-appends: %s\n", done.error().message.c_str());
    }
    return done.has_value();
  }

 private:
  std::optional<arborfs::Catalog> catalog_;
  std::unique_ptr<arborfs::Writer> writer_;
};

bool write_lines(const Task& task, std::size_t writer, std::span<std::int64_t> times) {
  std::optional<LibrarySession> library;
  if (!task.store.empty()) {
    library.emplace(task.store);
  }
  std::optional<Lock> lock;
  if (task.locked) {
    lock.emplace(task.file);
  }
  for (std::size_t number = 0; number < task.count; ++number) {
    const std::string line = line_of(task, writer, number);
    const auto start = Clock::now();
    if (!(library ? library->append(line) : append(task, line, lock))) {
      return false;
    }
    times[number] = std::chrono::nanoseconds(Clock::now() - start).count();
  }
  return true;
}

/// Runs all writers at once. Each is a process that starts when the pipe's end is closed.
bool run_writers(const Task& task, std::span<std::int64_t> times, Clock::duration& taken) {
  int gate[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) {
    return false;
  }
  for (std::size_t writer = 0; writer < task.writers; ++writer) {
    const pid_t child = ::fork();
    if (child < 0) {
      return false;
    }
    if (child == 0) {
      ::close(gate[1]);
      char nothing = 0;
      const bool is_open = ::read(gate[0], &nothing, 1) == 0;
      ::_exit(is_open && write_lines(task, writer, times.subspan(writer * task.count, task.count)) ? 0 : 1);
    }
  }
  ::close(gate[0]);
  const auto start = Clock::now();
  ::close(gate[1]);
  bool done = true;
  int status = 0;
  while (::wait(&status) > 0) {
    done = done && status == 0;
  }
  taken = Clock::now() - start;
  return done;
}

bool read_number(const char* word, std::size_t& number) {
  const char* const end = word + std::strlen(word);
  const auto [stopped, failed] = std::from_chars(word, end, number);
  return stopped == end && failed == std::errc() && number > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Task task;
  bool is_known = argc >= 5;
  for (int i = 5; i < argc; ++i) {
    const std::string_view option = argv[i];
    task.sync = task.sync || option == "--sync";
    task.locked = task.locked || option == "--locked";
    task.flock = task.flock || option == "--flock";
    const bool has_store = option == "--store" && i + 1 < argc;
    task.store = has_store ? argv[++i] : task.store;
    is_known = is_known && (has_store || option == "--sync" || option == "--locked" || option == "--flock");
  }
  if (!is_known || !read_number(argv[3], task.writers) || !read_number(argv[4], task.count)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  task.file = argv[1];
  task.tag = argv[2];
  const std::size_t total = task.writers * task.count;
  void* const shared =
      ::mmap(nullptr, total * sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("arborfs-appends: mmap");
    return 1;
  }
  const std::span<std::int64_t> times(static_cast<std::int64_t*>(shared), total);
  std::fill(times.begin(), times.end(), 0);
  Clock::duration taken{};
  if (!run_writers(task, times, taken)) {
    return 1;
  }
  std::sort(times.begin(), times.end());
  const double seconds = std::chrono::duration<double>(taken).count();
  std::printf("{\"p50\":%.3f,\"p99\":%.3f,\"rate\":%.1f}\n", static_cast<double>(times[total / 2]) / 1000,
              static_cast<double>(times[total * 99 / 100]) / 1000, static_cast<double>(total) / seconds);
  return 0;
}
