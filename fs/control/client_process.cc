#include "fs/control/client_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kExiting = 0x4;
constexpr std::uint64_t kSignaled = 0x400;
// Indexes into stat_fields() (proc(5) counts from 1, and counts pid and name too).
constexpr std::size_t kFlagsField = 9 - 3;
constexpr std::size_t kStartTime = 22 - 3;
constexpr std::size_t kExitCode = 52 - 3;

std::string folder_of(pid_t pid) {
  return "/proc/" + std::to_string(pid);
}

std::string read_small(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer{};
  const ssize_t got = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : "";
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The fields of /proc/<pid>/stat after the name, which may itself contain blanks and brackets.
std::vector<std::uint64_t> stat_fields(pid_t pid) {
  const std::string text = read_small(folder_of(pid) + "/stat");
  std::vector<std::uint64_t> fields;
  std::size_t at = text.rfind(')');
  while (at != std::string::npos && at + 2 < text.size()) {
    at = text.find_first_not_of(' ', at + 1);
    const std::size_t end = text.find(' ', at);
    fields.push_back(number_in(std::string_view(text).substr(at, end - at)));
    at = end;
  }
  return fields;
}

bool shows_exit_code(pid_t pid) {
  struct stat st {};
  const uid_t own = ::geteuid();
  return own == 0 || (::stat(folder_of(pid).c_str(), &st) == 0 && st.st_uid == own);
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

pid_t thread_group_of(pid_t tid) {
  // Usually it is the first thread of its process, which the kernel confirms quickly: signal 0 is never delivered.
  if (tid > 0 && (::tgkill(tid, tid, 0) == 0 || errno == EPERM)) {
    return tid;
  }
  constexpr std::string_view kKey = "\nTgid:\t";
  const std::string status = tid > 0 ? read_small(folder_of(tid) + "/status") : "";
  const std::size_t at = status.find(kKey);
  return at == std::string::npos ? 0 : static_cast<pid_t>(number_in(std::string_view(status).substr(at + kKey.size())));
}

std::uint64_t identity_of(pid_t tgid) {
  const auto fields = stat_fields(tgid);
  return fields.size() > kStartTime ? fields[kStartTime] << 22U | static_cast<std::uint64_t>(tgid) : 0;
}

std::optional<std::size_t> open_links(pid_t tgid, const IsPath& is_path) {
  constexpr std::string_view kDeleted = " (deleted)";
  const std::string path = folder_of(tgid) + "/fd";
  const std::unique_ptr<DIR, CloseDir> dir(::opendir(path.c_str()));
  if (!dir) {
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? std::optional(SIZE_MAX) : std::nullopt;
  }
  std::size_t count = 0;
  std::array<char, PATH_MAX> target{};
  while (const dirent* entry = ::readdir(dir.get())) {
    const ssize_t got = ::readlinkat(::dirfd(dir.get()), entry->d_name, target.data(), target.size());
    std::string_view text(target.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    if (text.ends_with(kDeleted)) {
      text.remove_suffix(kDeleted.size());
    }
    count += is_path(text) ? 1 : 0;
  }
  return count;
}

bool is_killed_by_signal(pid_t tid) {
  const auto fields = stat_fields(tid);
  constexpr std::uint64_t kBoth = kExiting | kSignaled;
  if (fields.size() <= kFlagsField || (fields[kFlagsField] & kBoth) != kBoth) {
    return false;
  }
  return fields.size() <= kExitCode || !shows_exit_code(tid) || (fields[kExitCode] & 0x7FU) != 0;
}

}  // namespace arborfs
