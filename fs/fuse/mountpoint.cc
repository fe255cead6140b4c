#include "fs/fuse/mountpoint.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/unique_fd.h"
#include "core/os/file.h"

namespace arborfs {

namespace {

constexpr std::chrono::seconds kAnswerPatience{5};

bool abort_with_control_file(const MountEntry& mount) {
  const std::string path = "/sys/fs/fuse/connections/" + mount.minor + "/abort";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), "1", 1) == 1;
}

/// False if the file system at `path` does not answer within five seconds: its daemon is stopped, or was killed while
/// one of its threads invalidated a name and waited for a program that held the folder and waited for the daemon.
/// Asks in a thread, which ends with the process at the latest: a signal frees a request that nobody has read.
bool answers(const std::string& path) {
  std::promise<void> answered;
  const auto answer = answered.get_future();
  try {
    std::thread([path, answered = std::move(answered)]() mutable {
      struct statvfs st {};
      static_cast<void>(::statvfs(path.c_str(), &st));
      answered.set_value();
    }).detach();
  } catch (const std::system_error&) {
    return true;  // the caller finds out by itself
  }
  return answer.wait_for(kAnswerPatience) == std::future_status::ready;
}

/// Ends the connection of a mount, so that programs that wait for it fail with ECONNABORTED or ENOTCONN: the kernel
/// does so only if it is told to. Does nothing if this process may not: it needs the control files of FUSE, which
/// belong to the user of the mount, or CAP_SYS_ADMIN.
void abort_connection(const MountEntry& mount) {
  if (!abort_with_control_file(mount)) {
    ::umount2(mount.path.c_str(), MNT_FORCE | UMOUNT_NOFOLLOW);  // even if it fails with EBUSY
  }
}

constexpr int kMaxLinks = 40;
constexpr int kMaxStacked = 16;
constexpr std::array kUnmountPrograms = {"/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"};

/// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescaped(const std::string& field) {
  std::string out;
  for (std::size_t at = 0; at < field.size(); ++at) {
    if (field[at] == '\\' && at + 3 < field.size()) {
      out += static_cast<char>(std::stoi(field.substr(at + 1, 3), nullptr, 8));
      at += 3;
    } else {
      out += field[at];
    }
  }
  return out;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(::realpath(path.c_str(), nullptr), &std::free);
  return found ? found.get() : "";
}

bool is_dead(int errnum) {
  return errnum == ENOTCONN || errnum == ECONNABORTED;
}

/// The path of a folder that cannot be entered: the real path of its parent and its own name. Follows links by itself.
std::string path_of_dead(std::string path) {
  for (int i = 0; i < kMaxLinks; ++i) {
    while (path.size() > 1 && path.ends_with('/')) {
      path.pop_back();
    }
    const std::filesystem::path spelled(path);
    const std::string parent = real_path(spelled.has_parent_path() ? spelled.parent_path().string() : ".");
    if (parent.empty()) {
      return "";
    }
    const std::string own = (parent == "/" ? "" : parent) + "/" + spelled.filename().string();
    const auto target = link_target(own);
    if (!target) {
      return own;
    }
    path = target->starts_with('/') ? *target : parent + "/" + *target;
  }
  return "";
}

/// Device and inode of a folder and of all folders above it.
using Chain = std::vector<std::pair<dev_t, ino_t>>;

Chain chain_of(const std::string& path) {
  Chain chain;
  UniqueFd at(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (at) {
    struct stat st {};
    if (::fstat(at.get(), &st) != 0) {
      break;
    }
    const std::pair here(st.st_dev, st.st_ino);
    if (!chain.empty() && chain.back() == here) {
      break;  // the root is its own parent
    }
    chain.push_back(here);
    at = UniqueFd(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return chain;
}

std::string nearest_existing(std::string path) {
  std::error_code failed;
  while (path.size() > 1 && !std::filesystem::is_directory(path, failed)) {
    path = std::filesystem::path(path).parent_path().string();
  }
  return path.empty() ? "/" : path;
}

bool contains(const Chain& chain, const Chain& of) {
  return !of.empty() && std::find(chain.begin(), chain.end(), of.front()) != chain.end();
}

/// False if the program could not be run or failed.
bool run_fusermount(const std::string& flag, const std::string& path) {
  const auto program = std::find_if(kUnmountPrograms.begin(), kUnmountPrograms.end(),
                                    [](const char* candidate) { return ::access(candidate, X_OK) == 0; });
  if (program == kUnmountPrograms.end()) {
    return false;
  }
  std::array<std::string, 4> words = {"fusermount3", flag, "--", path};
  std::array<char*, 5> argv = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, *program, &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return false;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::optional<std::string> mount_table() {
  std::ifstream file("/proc/self/mountinfo");
  std::string text(std::istreambuf_iterator<char>(file), {});
  return file.is_open() && !file.bad() ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<MountEntry> mount_at(const std::string& path) {
  const auto table = mount_table();
  return table ? mount_in(*table, path) : std::nullopt;
}

std::optional<MountEntry> mount_in(const std::string& table, const std::string& path) {
  std::istringstream lines(table);
  std::optional<MountEntry> found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    MountEntry entry;
    std::string skipped;
    std::string device;
    std::string point;
    fields >> entry.id >> skipped >> device >> skipped >> point;
    if (unescaped(point) != path) {
      continue;
    }
    while (fields >> skipped && skipped != "-") {
    }
    entry.path = path;
    entry.minor = device.substr(device.find(':') + 1);
    fields >> entry.type >> entry.source;
    entry.source = unescaped(entry.source);
    found = std::move(entry);
  }
  return found;
}

bool is_arborfs(const MountEntry& entry) {
  return entry.type == "fuse.arborfs";
}

namespace {

/// The arborfs that is mounted there and does not answer. Never waits for it longer than answers() does.
std::optional<MountEntry> hung_mount_at(const std::string& path) {
  const std::string point = path_of_dead(path);
  auto entry = point.empty() ? std::nullopt : mount_at(point);
  return entry && is_arborfs(*entry) && !answers(point) ? std::move(entry) : std::nullopt;
}

/// The path of a folder on which no mount hangs, as resolve_mountpoint() returns it.
Result<std::string> real_mountpoint(const std::string& path) {
  std::string real = real_path(path);
  if (real.empty() && is_dead(errno)) {
    real = path_of_dead(path);
    return real.empty() ? Result<std::string>(Errc::not_found, path + ": no such folder") : real;
  }
  struct stat st {};
  if (real.empty() || (::stat(real.c_str(), &st) != 0 && !is_dead(errno))) {
    const Error why = error_from_errno(errno, path);
    return why.code == Errc::not_found ? Error{why.code, why.message + "; create that folder first (mkdir -p)"} : why;
  }
  if (st.st_mode != 0 && !S_ISDIR(st.st_mode)) {
    return Error{Errc::invalid_argument, path + " is not a folder"};
  }
  return real;
}

}  // namespace

Result<std::string> resolve_mountpoint(const std::string& path) {
  if (hung_mount_at(path)) {
    return Error{Errc::busy, path +
                                 " does not answer: its daemon is stopped, or was killed while a program waited for "
                                 "it; run: arborfs umount " +
                                 path};
  }
  return real_mountpoint(path);
}

bool has_files(const std::string& folder) {
  const auto dir = Dir::open_root(folder);
  if (!dir) {
    return false;
  }
  const auto entries = dir->list();
  return entries && !entries->empty();
}

Result<void> detach(const std::string& path) {
  if (run_fusermount("-u", path) || run_fusermount("-uz", path)) {
    return {};
  }
  if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
    return {};
  }
  return error_from_errno(errno, "cannot unmount " + path);
}

/// The id of a removed mount may be reused by its successor, so the mount itself is checked too.
void detach_if_dead(const std::string& path, const std::string& id) {
  const auto entry = mount_at(path);
  if (!entry || entry->id != id || !is_arborfs(*entry)) {
    return;
  }
  struct statvfs st {};
  if (::statvfs(path.c_str(), &st) != 0 && is_dead(errno)) {
    static_cast<void>(detach(path).has_value());
  }
}

Result<void> heal_mountpoint(const std::string& path) {
  for (int i = 0; i < kMaxStacked; ++i) {
    const auto entry = mount_at(path);
    if (!entry || !is_arborfs(*entry)) {
      return {};
    }
    struct statvfs st {};  // asks the daemon; stat could be answered from the kernel's cache of a dead one
    if (::statvfs(path.c_str(), &st) == 0) {
      return {Errc::already_exists, path + " already shows " + entry->source + "; unmount it first"};
    }
    if (!is_dead(errno)) {
      return error_from_errno(errno, path);
    }
    RETURN_IF_ERROR(detach(path));
  }
  return {Errc::io, path + " has too many dead mounts on it; unmount them first"};
}

Result<void> check_apart(const std::string& mountpoint, const std::vector<std::string>& store_folders) {
  const Chain own = chain_of(mountpoint);
  if (own.empty()) {
    return error_from_errno(errno, mountpoint);
  }
  for (const auto& folder : store_folders) {
    const Chain exact = chain_of(folder);
    if (!exact.empty() && exact.front() == own.front()) {
      return {Errc::invalid_argument, mountpoint + " is the store itself; mount somewhere else"};
    }
    if (contains(own, exact)) {
      return {Errc::invalid_argument, mountpoint + " is inside the store " + folder + "; mount somewhere else"};
    }
    if (contains(chain_of(nearest_existing(folder)), own)) {
      return {Errc::invalid_argument, mountpoint + " contains the store " + folder + "; mount somewhere else"};
    }
  }
  return {};
}

Result<void> unmount(const std::string& mountpoint, std::string* said) {
  if (const auto hung = hung_mount_at(mountpoint)) {
    abort_connection(*hung);
    return detach(hung->path);
  }
  const auto path = real_mountpoint(mountpoint);
  const auto entry = path ? mount_at(*path) : std::nullopt;
  if (!entry) {
    if (said != nullptr) {
      *said = "nothing is mounted on " + mountpoint;
    }
    return path || path.error().code == Errc::not_found ? Result<void>() : Result<void>(path.error());
  }
  if (!is_arborfs(*entry)) {
    return {Errc::invalid_argument, mountpoint + " is a mount of type " + entry->type + ", not arborfs"};
  }
  return detach(*path);
}

}  // namespace arborfs
