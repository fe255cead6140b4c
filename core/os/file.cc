#include "core/os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/os/environment.h"
#include "core/os/links.h"

namespace arborfs {

namespace {

FileStat from_stat(const struct stat& st) {
  FileStat out;
  out.dev = st.st_dev;
  out.ino = st.st_ino;
  out.size = static_cast<std::uint64_t>(st.st_size);
  out.mtime_ns = static_cast<std::int64_t>(st.st_mtim.tv_sec) * 1'000'000'000 + st.st_mtim.tv_nsec;
  out.mode = st.st_mode;
  out.uid = st.st_uid;
  out.links = static_cast<std::uint32_t>(st.st_nlink);
  return out;
}

Result<FileStat> stat_fd(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) {
    return error_from_errno(errno, "cannot read the file's status");
  }
  return from_stat(st);
}

std::string path_of_fd(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

bool is_link(const Dir& dir, const std::string& name) {
  const auto st = is_plain_name(name) ? dir.stat(name) : Result<FileStat>(Errc::not_found, "");
  return st && S_ISLNK(st->mode);
}

unsigned char type_from_mode(std::uint32_t mode) {
  return static_cast<unsigned char>(IFTODT(mode));
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

Result<File> File::open_in(const Dir& dir, const std::string& name, FileStat* seen) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain file name"};
  }
  UniqueFd fd(::openat(dir.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return fd ? of_regular(std::move(fd), seen) : error_from_errno(errno, "cannot open the file");
}

/// Devices and FIFOs at the end of a link are not opened, since some act when they are.
Result<File> File::follow_in(const Dir& dir, const std::string& name, FileStat* seen) {
  auto file = open_in(dir, name, seen);
  if (file || !is_link(dir, name)) {
    return file;
  }
  ASSIGN_OR_RETURN(const auto end, end_of_link(dir, name));
  ASSIGN_OR_RETURN(const auto st, stat_fd(end.get()));
  if (!S_ISREG(st.mode)) {
    return Error{Errc::corrupt, "not a regular file"};
  }
  UniqueFd fd(::open(path_of_fd(end.get()).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return fd ? of_regular(std::move(fd), seen) : error_from_errno(errno, "cannot open the file");
}

Result<File> File::of_regular(UniqueFd fd, FileStat* seen) {
  ASSIGN_OR_RETURN(auto st, stat_fd(fd.get()));
  if (!S_ISREG(st.mode)) {
    return Error{Errc::corrupt, "not a regular file"};
  }
  if (seen != nullptr) {
    *seen = st;
  }
  return File(std::move(fd));
}

Result<FileStat> File::stat() const {
  return stat_fd(fd_.get());
}

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(fd_.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return error_from_errno(errno, "cannot read the file");
    }
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<std::string> File::read(std::uint64_t offset, std::size_t size) const {
  std::string bytes(size, '\0');
  ASSIGN_OR_RETURN(const auto got, read_at(offset, bytes));
  bytes.resize(got);
  return bytes;
}

Result<Dir> Dir::open_root(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return error_from_errno(errno, "cannot open " + path);
  }
  return Dir(std::move(fd));
}

// O_NOFOLLOW applies to the last component only.
Result<Dir> Dir::open_below_root(const std::string& root, const std::string& name) {
  return open_at(AT_FDCWD, root + "/", name);
}

Result<Dir> Dir::open_in(const std::string& name) const {
  auto dir = open_at(fd_.get(), "", name);
  if (dir) {
    dir->is_linked_ = is_linked_;
  }
  return dir;
}

Result<Dir> Dir::follow(const std::string& name) const {
  auto dir = open_in(name);
  if (dir || !is_link(*this, name)) {
    return dir;
  }
  ASSIGN_OR_RETURN(const auto end, end_of_link(*this, name));
  UniqueFd fd(::openat(end.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd ? Result<Dir>(Dir(std::move(fd), true)) : error_from_errno(errno, "cannot open the folder");
}

Result<Dir> Dir::follow_below_root(const std::string& root, const std::string& name) {
  auto dir = open_below_root(root, name);
  if (dir) {
    return dir;
  }
  ASSIGN_OR_RETURN(const auto above, open_root(root));
  return above.follow(name);
}

Result<Dir> Dir::open_at(int base, const std::string& before, const std::string& name) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain folder name"};
  }
  UniqueFd fd(::openat(base, (before + name).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    return error_from_errno(errno, "cannot open the folder");
  }
  return Dir(std::move(fd));
}

Result<FileStat> Dir::stat(const std::string& name) const {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain name"};
  }
  struct stat st {};
  if (::fstatat(fd_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return error_from_errno(errno, "cannot read the file's status");
  }
  return from_stat(st);
}

Result<FileStat> Dir::stat_end(const std::string& name) const {
  ASSIGN_OR_RETURN(const auto st, stat(name));
  if (!S_ISLNK(st.mode)) {
    return st;
  }
  ASSIGN_OR_RETURN(const auto end, end_of_link(*this, name));
  return stat_fd(end.get());
}

Result<FileStat> Dir::stat_root(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return error_from_errno(errno, "cannot read the status of " + path);
  }
  return from_stat(st);
}

Result<FileStat> Dir::stat() const {
  return stat_fd(fd_.get());
}

Result<std::vector<DirEntry>> Dir::list() const {
  // Uses a separate descriptor, so that several threads can list at once.
  UniqueFd fd(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return error_from_errno(errno, "cannot list the folder");
  }
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd.get()), &::closedir);
  if (!stream) {
    return error_from_errno(errno, "cannot list the folder");
  }
  static_cast<void>(fd.release());  // the stream owns it now
  std::vector<DirEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") {
      continue;
    }
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) {
      auto st = stat(std::string(name));
      if (!st) {
        continue;
      }
      type = type_from_mode(st->mode);
    }
    entries.push_back({std::string(name), type});
    errno = 0;
  }
  if (errno != 0) {
    return error_from_errno(errno, "cannot list the folder");
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

std::optional<std::string> link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::optional<std::string>(std::in_place, target.data(), static_cast<std::size_t>(size))
                  : std::nullopt;
}

std::string path_of(int fd) {
  auto path = link_target(path_of_fd(fd));
  return path && path->starts_with('/') && !path->ends_with(" (deleted)") ? *std::move(path) : "";
}

Result<bool> wait_for_flock(int fd, std::chrono::milliseconds patience) {
  constexpr std::chrono::microseconds kFirstPause{200};
  constexpr std::chrono::microseconds kLongestPause{10'000};
  const auto until = std::chrono::steady_clock::now() + patience;
  std::chrono::microseconds pause = kFirstPause;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return error_from_errno(errno, "cannot lock the session");
    }
    if (std::chrono::steady_clock::now() >= until) {
      return false;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return true;
}

namespace {

constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

Result<std::string> sha256_of(const File& file) {
  Sha256 digest;
  std::string buffer(kReadBytes, '\0');
  for (std::uint64_t offset = 0;;) {
    ASSIGN_OR_RETURN(auto got, file.read_at(offset, buffer));
    digest.update(std::string_view(buffer).substr(0, got));
    offset += got;
    if (got < buffer.size()) {
      return digest.finish_hex();
    }
  }
}

/// Some file systems have no nameless files: there the name is removed at once.
Result<UniqueFd> make_scratch_file() {
  const std::string chosen = environment_variable("TMPDIR");
  const std::string folder = chosen.empty() ? "/tmp" : chosen;
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    std::string name = folder + "/arborfs-XXXXXX";
    fd = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (fd) {
      ::unlink(name.c_str());
    }
  }
  return fd ? Result<UniqueFd>(std::move(fd)) : error_from_errno(errno, "cannot create a temporary file in " + folder);
}

}  // namespace arborfs
