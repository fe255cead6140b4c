#include "core/env/processes.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

namespace arborfs {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kAgentPrograms = {"omp", "pi", "bun"};
constexpr auto kRemembered = std::chrono::seconds(1);
constexpr auto kBetweenLooks = std::chrono::milliseconds(1);

long as_pid(const std::string& name) {
  long pid = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return failed == std::errc() && end == name.data() + name.size() ? pid : 0;
}

std::vector<long> own_processes() {
  std::vector<long> pids;
  std::error_code failed;
  for (fs::directory_iterator it("/proc", failed), end; !failed && it != end; it.increment(failed)) {
    const long pid = as_pid(it->path().filename().string());
    struct stat st {};
    if (pid > 0 && pid != ::getpid() && ::stat(it->path().c_str(), &st) == 0 && st.st_uid == ::getuid()) {
      pids.push_back(pid);
    }
  }
  return pids;
}

bool is_writable_descriptor(const std::string& process, const std::string& number) {
  std::ifstream info(process + "/fdinfo/" + number);
  std::string word;
  while (info >> word) {
    if (word == "flags:") {
      unsigned long flags = 0;
      info >> std::oct >> flags;
      return (flags & O_ACCMODE) != O_RDONLY;
    }
  }
  return false;
}

bool has_open_for_writing(long pid, const FileStat& wanted) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::error_code failed;
  for (fs::directory_iterator it(process + "/fd", failed), end; !failed && it != end; it.increment(failed)) {
    struct stat st {};
    if (::stat(it->path().c_str(), &st) == 0 && st.st_dev == wanted.dev && st.st_ino == wanted.ino &&
        is_writable_descriptor(process, it->path().filename().string())) {
      return true;
    }
  }
  return false;
}

bool search_descriptors(const File& file) {
  const auto wanted = file.stat();
  if (!wanted) {
    return false;
  }
  const auto pids = own_processes();
  return std::any_of(pids.begin(), pids.end(), [&](long pid) { return has_open_for_writing(pid, *wanted); });
}

std::vector<AgentProcess> find_agents() {
  std::vector<AgentProcess> agents;
  for (const long pid : own_processes()) {
    const std::string process = "/proc/" + std::to_string(pid);
    std::string program;
    std::getline(std::ifstream(process + "/comm"), program);
    if (std::find(kAgentPrograms.begin(), kAgentPrograms.end(), program) == kAgentPrograms.end()) {
      continue;
    }
    std::error_code failed;
    const auto cwd = fs::read_symlink(process + "/cwd", failed);
    if (!failed) {
      agents.push_back({pid, program, cwd.string()});
    }
  }
  return agents;
}

bool seems_open_for_writing(const File& file) {
  if (::fcntl(file.fd(), F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(file.fd(), F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno == EAGAIN || search_descriptors(file);
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

bool is_process_alive(long pid) {
  return pid > 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

std::vector<AgentProcess> running_agents() {
  static std::mutex mutex;
  static std::vector<AgentProcess> remembered;
  static std::chrono::steady_clock::time_point until;
  const std::lock_guard lock(mutex);
  const auto now = std::chrono::steady_clock::now();
  if (now >= until) {
    remembered = find_agents();
    until = now + kRemembered;
  }
  return remembered;
}

}  // namespace arborfs
