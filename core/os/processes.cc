#include "core/os/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace arborfs {

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

}  // namespace arborfs
