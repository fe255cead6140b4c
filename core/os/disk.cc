#include "core/os/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <map>
#include <system_error>
#include <thread>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/os/file_tree.h"

namespace arborfs {

namespace {

/// How long to retry an open that a lease blocks: a process that checks whether the file is open takes one briefly
/// (processes.h).
constexpr std::chrono::milliseconds kLeasePatience{200};
constexpr std::chrono::milliseconds kBetweenTries{1};

/// Repeats the call while a signal interrupts it. On an error: -1 and errno.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

template <class Number>
Result<void> done_or(Number result, const char* doing) {
  return result < 0 ? Result<void>(error_from_errno(errno, doing)) : Result<void>();
}

Result<UniqueFd> open_regular(const Dir& folder, const std::string& name, int flags, const char* doing) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain file name"};
  }
  const auto until = std::chrono::steady_clock::now() + kLeasePatience;
  const auto open = [&] {
    return uninterrupted([&] {
      return ::openat(folder.fd(), name.c_str(), flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    });
  };
  UniqueFd fd(open());
  while (!fd && errno == EWOULDBLOCK && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kBetweenTries);
    fd = UniqueFd(open());
  }
  if (!fd) {
    return error_from_errno(errno, doing);
  }
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) {
    return error_from_errno(errno, doing);
  }
  if (!S_ISREG(st.st_mode)) {
    return Error{Errc::corrupt, "not a regular file"};
  }
  return fd;
}

/// True for the errors of file systems that do not support renameat2's flags.
bool is_unsupported(int errnum) {
  return errnum == EINVAL || errnum == ENOSYS || errnum == EOPNOTSUPP;
}

/// True for link(2)'s errors for folders and on file systems without hard links.
bool has_no_links(int errnum) {
  return is_unsupported(errnum) || errnum == EPERM || errnum == EMLINK;
}

/// 0, or -1 and errno; on an error the old name is unchanged and the new one is removed again.
int link_and_unlink(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name) {
  if (::linkat(from.fd(), name.c_str(), to.fd(), new_name.c_str(), 0) != 0) {
    return -1;
  }
  if (::unlinkat(from.fd(), name.c_str(), 0) != 0) {
    const int why = errno;
    ::unlinkat(to.fd(), new_name.c_str(), 0);
    errno = why;
    return -1;
  }
  return 0;
}

}  // namespace

namespace {

class RealDisk final : public Disk {
 public:
  Result<void> sync_all(const SyncSet& set) override {
    std::vector<Result<void>> done(set.files.size() + set.folders.size());
    const auto sync_one = [&](std::size_t i) {
      const std::size_t folder = i - set.files.size();
      done[i] = i < set.files.size() ? sync(set.files[i]) : sync_folder(*set.folders[folder]);
    };
    {
      std::map<std::size_t, HelperThread> helpers;
      for (std::size_t i = 0; i + 1 < done.size(); ++i) {
        try {
          helpers.try_emplace(i, [&sync_one, i] { sync_one(i); });
        } catch (const std::system_error&) {  // no thread available
          sync_one(i);
        }
      }
      if (!done.empty()) {
        sync_one(done.size() - 1);
      }
      for (auto& [i, helper] : helpers) {
        if (helper.drop_unless_begun()) {  // starting it takes longer than a sync
          sync_one(i);
        }
      }
    }
    const auto failed = std::find_if(done.begin(), done.end(), [](const auto& one) { return !one; });
    return failed == done.end() ? Result<void>() : *failed;
  }
};

}  // namespace

Disk& Disk::real() {
  static RealDisk disk;
  return disk;
}

Result<UniqueFd> Disk::open_append(const Dir& folder, const std::string& name) {
  return open_regular(folder, name, O_APPEND, "cannot open the file for appending");
}

Result<UniqueFd> Disk::open_update(const Dir& folder, const std::string& name) {
  return open_regular(folder, name, 0, "cannot open the file for writing");
}

Result<UniqueFd> Disk::create(const Dir& folder, const std::string& name, mode_t mode) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain file name"};
  }
  RETURN_IF_ERROR(check_not_append_only(folder));
  UniqueFd fd(uninterrupted(
      [&] { return ::openat(folder.fd(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode); }));
  return fd ? Result<UniqueFd>(std::move(fd)) : error_from_errno(errno, "cannot create the file");
}

Result<std::size_t> Disk::write(int fd, std::string_view bytes) {
  const ssize_t done = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
  return done < 0 ? Result<std::size_t>(error_from_errno(errno, "cannot write to the file"))
                  : static_cast<std::size_t>(done);
}

Result<std::size_t> Disk::write_at(int fd, std::string_view bytes, std::uint64_t offset) {
  const ssize_t done =
      uninterrupted([&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
  return done < 0 ? Result<std::size_t>(error_from_errno(errno, "cannot write to the file"))
                  : static_cast<std::size_t>(done);
}

Result<void> Disk::set_mode(int fd, mode_t mode) {
  return done_or(::fchmod(fd, mode), "cannot set the file's mode");
}

Result<void> Disk::set_owner(int fd, uid_t owner, gid_t group) {
  return done_or(::fchown(fd, owner, group), "cannot set the file's owner");
}

Result<void> Disk::set_attribute(int fd, const std::string& name, std::string_view value) {
  return done_or(::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0), "cannot set an attribute of the file");
}

Result<void> Disk::set_mtime(int fd, std::int64_t mtime_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t seconds = mtime_ns / kSecond;
  std::int64_t rest = mtime_ns % kSecond;
  if (rest < 0) {
    --seconds;
    rest += kSecond;
  }
  const timespec times[2] = {{0, UTIME_OMIT}, {seconds, rest}};
  return done_or(::futimens(fd, times), "cannot set the file's time");
}

Result<void> Disk::truncate(int fd, std::uint64_t size) {
  return done_or(uninterrupted([&] { return ::ftruncate(fd, static_cast<off_t>(size)); }), "cannot truncate the file");
}

Result<void> Disk::sync(int fd) {
  return done_or(::fdatasync(fd), "cannot sync the file to disk");
}

Result<void> Disk::sync_folder(const Dir& folder) {
  return done_or(::fsync(folder.fd()), "cannot sync the folder to disk");
}

Result<void> Disk::sync_all(const SyncSet& set) {
  for (const int file : set.files) {
    RETURN_IF_ERROR(sync(file));
  }
  for (const Dir* const folder : set.folders) {
    RETURN_IF_ERROR(sync_folder(*folder));
  }
  return {};
}

Result<void> Disk::rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                          Existing existing) {
  if (!is_plain_name(name) || !is_plain_name(new_name)) {
    return Error{Errc::invalid_argument, "not a plain name"};
  }
  const auto rename_as = [&](unsigned flags) { return rename_at(from, name.c_str(), to, new_name.c_str(), flags); };
  if (existing == Existing::replace) {
    return done_or(rename_as(0), "cannot rename the file");
  }
  const int done = rename_as(RENAME_NOREPLACE);
  if (done == 0 || !is_unsupported(errno)) {
    return done_or(done, "cannot rename the file");
  }
  const int linked = link_and_unlink(from, name, to, new_name);
  if (linked == 0 || !has_no_links(errno)) {
    return done_or(linked, "cannot rename the file");
  }
  if (to.stat(new_name)) {
    return error_from_errno(EEXIST, "cannot rename the file");
  }
  return done_or(rename_as(0), "cannot rename the file");
}

Result<void> Disk::exchange(const Dir& folder, const std::string& name, const std::string& other) {
  if (!is_plain_name(name) || !is_plain_name(other)) {
    return Error{Errc::invalid_argument, "not a plain name"};
  }
  const int done = rename_at(folder, name.c_str(), folder, other.c_str(), RENAME_EXCHANGE);
  if (done != 0 && is_unsupported(errno)) {
    return Error{Errc::unsupported, "the file system cannot exchange two files"};
  }
  return done_or(done, "cannot exchange the files");
}

int Disk::rename_at(const Dir& from, const char* name, const Dir& to, const char* new_name, unsigned flags) {
  return static_cast<int>(::syscall(SYS_renameat2, from.fd(), name, to.fd(), new_name, flags));
}

Result<void> Disk::remove(const Dir& folder, const std::string& name) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain name"};
  }
  return done_or(::unlinkat(folder.fd(), name.c_str(), 0), "cannot remove the file");
}

Result<void> Disk::make_folder(const Dir& folder, const std::string& name, mode_t mode) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain folder name"};
  }
  if (folder.stat(name)) {
    return {};
  }
  RETURN_IF_ERROR(check_not_append_only(folder));
  if (::mkdirat(folder.fd(), name.c_str(), mode) != 0 && errno != EEXIST) {
    return error_from_errno(errno, "cannot create the folder");
  }
  return {};
}

Result<void> Disk::remove_folder(const Dir& folder, const std::string& name) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain folder name"};
  }
  return done_or(::unlinkat(folder.fd(), name.c_str(), AT_REMOVEDIR), "cannot remove the folder");
}

Result<void> Disk::make_link(const Dir& folder, const std::string& name, const std::string& target) {
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "not a plain name"};
  }
  return done_or(::symlinkat(target.c_str(), folder.fd(), name.c_str()), "cannot create the link");
}

Result<UniqueFd> Disk::reserve(const Dir& folder, std::uint64_t bytes) {
  UniqueFd file(::openat(folder.fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {
    return errno == EOPNOTSUPP || errno == EISDIR ? Result<UniqueFd>(UniqueFd())
                                                  : error_from_errno(errno, "cannot reserve disk space");
  }
  const int failed = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (failed == EOPNOTSUPP || failed == EINVAL) {
    return UniqueFd();
  }
  return failed == 0 ? Result<UniqueFd>(std::move(file)) : error_from_errno(failed, "cannot reserve disk space");
}

Result<DiskRoomPtr> KeptRooms::take(const Dir& folder, std::uint64_t bytes) {
  ASSIGN_OR_RETURN(const auto st, folder.stat());
  const bool may_be_kept = bytes <= kLargest;
  if (may_be_kept) {
    const std::lock_guard lock(mutex_);
    for (const DiskRoomPtr& room : kept_) {
      if (room.use_count() == 1 && room->device == st.dev && room->bytes >= bytes) {
        return room;
      }
    }
  }
  auto file = disk_.reserve(folder, bytes);
  if (!file && file.error().code == Errc::no_space && free()) {
    file = disk_.reserve(folder, bytes);
  }
  if (!file) {
    return file.error();
  }
  const auto room = std::make_shared<const DiskRoom>(DiskRoom{*std::move(file), st.dev, bytes});
  const std::lock_guard lock(mutex_);
  if (may_be_kept && room->file && kept_.size() < kMost) {
    kept_.push_back(room);
  }
  return room;
}

bool KeptRooms::free() {
  std::vector<DiskRoomPtr> freed;  // after the lock
  const std::lock_guard lock(mutex_);
  const auto is_taken = [](const DiskRoomPtr& room) { return room.use_count() > 1; };
  const auto first = std::partition(kept_.begin(), kept_.end(), is_taken);
  freed.assign(std::make_move_iterator(first), std::make_move_iterator(kept_.end()));
  kept_.erase(first, kept_.end());
  return !freed.empty();
}

Result<File> open_or_create(Disk& disk, const Dir& folder, const std::string& name, mode_t mode, bool& is_new) {
  auto file = File::open_in(folder, name);
  if (file || file.error().code != Errc::not_found) {
    return file;
  }
  auto made = disk.create(folder, name, mode);
  if (!made) {
    return made.error().code == Errc::already_exists ? File::open_in(folder, name) : Result<File>(made.error());
  }
  is_new = true;
  return File::of(std::move(*made));
}

Result<void> write_all(Disk& disk, int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ASSIGN_OR_RETURN(auto done, disk.write(fd, bytes));
    if (done == 0) {
      return Error{Errc::no_space, "cannot write: the disk accepted no data; free some space on it and try again"};
    }
    bytes.remove_prefix(done);
  }
  return {};
}

}  // namespace arborfs
