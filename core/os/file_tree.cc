#include "core/os/file_tree.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/os/file.h"
#include "core/os/processes.h"

namespace arborfs {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr std::string_view kUserAttributes = "user.";
constexpr std::string_view kAccessList = "system.posix_acl_access";
constexpr std::size_t kLongest = std::size_t{64} << 10U;  // the kernel's limit for a value and for all names
constexpr uid_t kSameOwner = static_cast<uid_t>(-1);

/// Permissions in which the group may do only what everybody may.
mode_t without_group(mode_t mode) {
  return (mode & ~static_cast<mode_t>(S_IRWXG)) | ((mode & S_IRWXO) << 3U & mode & S_IRWXG);
}

/// False if the new file could not get the group.
Result<bool> keep_owner(Disk& disk, const struct stat& original, int fd) {
  struct stat made {};
  if (::fstat(fd, &made) != 0) {
    return error_from_errno(errno, "cannot read the attributes of the new file");
  }
  if (made.st_uid != original.st_uid) {
    const auto done = disk.set_owner(fd, original.st_uid, original.st_gid);
    return done ? Result<bool>(true)
                : Error{Errc::not_permitted, "the file belongs to another user (" + std::to_string(original.st_uid) +
                                                 "), and what replaces it would not; let its owner do this"};
  }
  return made.st_gid == original.st_gid || disk.set_owner(fd, kSameOwner, original.st_gid);
}

/// The value of an attribute; nothing if it cannot be read.
std::optional<std::string> attribute_of(int fd, const std::string& name) {
  std::string value(kLongest, '\0');
  const ssize_t size = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
  if (size < 0) {
    return std::nullopt;
  }
  value.resize(static_cast<std::size_t>(size));
  return value;
}

/// False if the new file could not get the access list.
bool keep_extended(Disk& disk, int original, int fd) {
  std::string names(kLongest, '\0');
  const ssize_t size = ::flistxattr(original, names.data(), names.size());
  names.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  bool has_access_list = true;
  for (std::size_t at = 0; at < names.size();) {
    const std::string name = names.c_str() + at;
    at += name.size() + 1;
    const bool is_access_list = name == kAccessList;
    if (is_access_list || name.starts_with(kUserAttributes)) {
      const auto value = attribute_of(original, name);
      const bool is_set = value && disk.set_attribute(fd, name, *value);
      has_access_list = has_access_list && (is_set || !is_access_list);
    }
  }
  return has_access_list;
}

}  // namespace

Result<void> keep_attributes(Disk& disk, int original, int fd, std::optional<mode_t> mode) {
  struct stat st {};
  if (::fstat(original, &st) != 0) {
    return error_from_errno(errno, "cannot read the attributes of the file");
  }
  const mode_t wanted = mode.value_or(st.st_mode) & kPermissions;
  ASSIGN_OR_RETURN(const bool has_group, keep_owner(disk, st, fd));
  const bool has_access_list = keep_extended(disk, original, fd);
  return disk.set_mode(fd, has_group && has_access_list ? wanted : without_group(wanted));
}

Result<void> keep_owner_of_folder(Disk& disk, const Dir& folder, int fd) {
  if (::geteuid() != 0) {
    return {};
  }
  struct stat of_folder {};
  struct stat made {};
  if (::fstat(folder.fd(), &of_folder) != 0 || ::fstat(fd, &made) != 0) {
    return error_from_errno(errno, "cannot read the attributes of the folder");
  }
  return made.st_uid == of_folder.st_uid ? Result<void>() : disk.set_owner(fd, of_folder.st_uid, of_folder.st_gid);
}

Result<void> check_not_append_only(const Dir& folder) {
  int flags = 0;
  const bool is_known = ::ioctl(folder.fd(), FS_IOC_GETFLAGS, &flags) == 0;
  return is_known && (flags & FS_APPEND_FL) != 0
             ? Result<void>(Errc::not_permitted,
                            "the folder is append-only, so what is made there stays; chattr -a allows changes")
             : Result<void>();
}

namespace {

constexpr int kMaxDepth = 100;  // each level holds up to two descriptors
constexpr std::size_t kStep = 256 * 1024;
constexpr mode_t kPrivateCopy = 0600;
constexpr mode_t kPrivateFolder = 0700;
/// A program that holds a file open for writing for longer keeps it.
constexpr std::chrono::milliseconds kWriterPatience{50};

Error too_deep() {
  return {Errc::unsupported, "the folders are nested too deeply"};
}

Result<void> copy_attributes(Disk& disk, int original, const FileStat& st, int fd) {
  RETURN_IF_ERROR(keep_attributes(disk, original, fd));
  return disk.set_mtime(fd, st.mtime_ns);
}

Result<void> copy_bytes(Disk& disk, const File& source, int fd) {
  std::vector<char> buffer(kStep);
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const auto got, source.read_at(at, buffer));
    if (got == 0) {
      return {};
    }
    RETURN_IF_ERROR(write_all(disk, fd, {buffer.data(), got}));
    at += got;
  }
}

Result<void> copy_file(Disk& disk, const Dir& from, const std::string& name, const Dir& to,
                       const std::string& new_name) {
  ASSIGN_OR_RETURN(const auto source, File::open_in(from, name));
  ASSIGN_OR_RETURN(const auto fd, disk.create(to, new_name, kPrivateCopy));
  return copy_to_file(disk, source, fd.get());
}

Result<void> copy_link(Disk& disk, const Dir& from, const std::string& name, const Dir& to,
                       const std::string& new_name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlinkat(from.fd(), name.c_str(), target.data(), target.size());
  return length < 0 ? Result<void>(error_from_errno(errno, "cannot read the link"))
                    : disk.make_link(to, new_name, std::string(target.data(), static_cast<std::size_t>(length)));
}

Result<void> copy_any(Disk& disk, const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      int depth);

Result<void> fill_folder(Disk& disk, const Dir& source, const Dir& copy, int depth) {
  ASSIGN_OR_RETURN(const auto st, source.stat());
  ASSIGN_OR_RETURN(const auto entries, source.list());
  for (const DirEntry& entry : entries) {
    RETURN_IF_ERROR(copy_any(disk, source, entry.name, copy, entry.name, depth + 1));
  }
  RETURN_IF_ERROR(copy_attributes(disk, source.fd(), st, copy.fd()));
  return disk.sync_folder(copy);
}

Result<void> copy_folder(Disk& disk, const Dir& from, const std::string& name, const Dir& to,
                         const std::string& new_name, int depth) {
  ASSIGN_OR_RETURN(const auto source, from.open_in(name));
  RETURN_IF_ERROR(disk.make_folder(to, new_name, kPrivateFolder));
  ASSIGN_OR_RETURN(const auto copy, to.open_in(new_name));
  return fill_folder(disk, source, copy, depth);
}

Result<void> copy_any(Disk& disk, const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      int depth) {
  ASSIGN_OR_RETURN(const auto st, from.stat(name));
  if (S_ISREG(st.mode)) {
    return copy_file(disk, from, name, to, new_name);
  }
  if (S_ISLNK(st.mode)) {
    return copy_link(disk, from, name, to, new_name);
  }
  if (!S_ISDIR(st.mode)) {
    return Error{Errc::unsupported, "only files, folders and links can be copied"};
  }
  return depth < kMaxDepth ? copy_folder(disk, from, name, to, new_name, depth) : too_deep();
}

Result<std::uint64_t> size_of_any(const Dir& folder, const std::string& name, int depth) {
  const auto none_if_gone = [](const Error& error) {
    return error.code == Errc::not_found ? Result<std::uint64_t>(0) : Result<std::uint64_t>(error);
  };
  const auto st = folder.stat(name);
  if (!st || !S_ISDIR(st->mode)) {
    return st ? Result<std::uint64_t>(st->size) : none_if_gone(st.error());
  }
  if (depth >= kMaxDepth) {
    return too_deep();
  }
  const auto below = folder.open_in(name);
  const auto entries = below ? below->list() : Result<std::vector<DirEntry>>(below.error());
  if (!entries) {
    return none_if_gone(entries.error());
  }
  std::uint64_t bytes = 0;
  for (const DirEntry& entry : *entries) {
    ASSIGN_OR_RETURN(const std::uint64_t more, size_of_any(*below, entry.name, depth + 1));
    bytes += more;
  }
  return bytes;
}

Result<void> remove_any(Disk& disk, const Dir& folder, const std::string& name, int depth) {
  const auto st = folder.stat(name);
  if (!st) {
    return st.error().code == Errc::not_found ? Result<void>() : Result<void>(st.error());
  }
  if (!S_ISDIR(st->mode)) {
    return disk.remove(folder, name);
  }
  if (depth >= kMaxDepth) {
    return too_deep();
  }
  ASSIGN_OR_RETURN(const auto below, folder.open_in(name));
  ASSIGN_OR_RETURN(const auto entries, below.list());
  for (const DirEntry& entry : entries) {
    RETURN_IF_ERROR(remove_any(disk, below, entry.name, depth + 1));
  }
  return disk.remove_folder(folder, name);
}

/// True if the other file is the same, or, with `may_be_longer`, begins with this one.
bool is_same(const File& one, const Dir& other, const std::string& other_name, bool may_be_longer = false) {
  constexpr std::uint64_t kCompared = 1 << 20;
  FileStat theirs_st;
  const auto theirs = File::open_in(other, other_name, &theirs_st);
  const auto st = one.stat();
  if (!theirs || !st || (!may_be_longer && st->size != theirs_st.size)) {
    return false;
  }
  for (std::uint64_t at = 0; at < st->size; at += kCompared) {
    const std::size_t step = std::min(kCompared, st->size - at);
    const auto bytes = one.read(at, step);
    const auto other_bytes = theirs->read(at, step);
    if (!bytes || !other_bytes || bytes->size() != step || *bytes != *other_bytes) {
      return false;
    }
  }
  return true;
}

bool is_same_link(const Dir& one, const std::string& name, const Dir& other, const std::string& other_name) {
  std::array<char, PATH_MAX> mine{};
  std::array<char, PATH_MAX> theirs{};
  const ssize_t length = ::readlinkat(one.fd(), name.c_str(), mine.data(), mine.size());
  const ssize_t other_length = ::readlinkat(other.fd(), other_name.c_str(), theirs.data(), theirs.size());
  return length >= 0 && length == other_length && mine == theirs;
}

/// What of two trees must be equal.
enum class Equal : std::uint8_t {
  all_of_one,  // each file and link of the first is in the second
  continued,   // the same, but files of the second may be longer
  common,      // what both have, but files of the second may be longer
  names,       // each name of the first is in the second
};

bool is_equal(const Dir& one, const std::string& name, const Dir& other, const std::string& other_name, Equal what,
              int depth) {
  if (const auto there = other.stat(other_name); !there) {
    return what == Equal::common && there.error().code == Errc::not_found;
  }
  const auto mine = one.open_in(name);
  const auto theirs = other.open_in(other_name);
  if (!mine || !theirs) {
    const auto file = File::open_in(one, name);
    return what == Equal::names || (!mine && !theirs &&
                                    (file ? is_same(*file, other, other_name, what != Equal::all_of_one)
                                          : is_same_link(one, name, other, other_name)));
  }
  const auto names = mine->list();
  return depth < kMaxDepth && names && std::all_of(names->begin(), names->end(), [&](const DirEntry& entry) {
           return is_equal(*mine, entry.name, *theirs, entry.name, what, depth + 1);
         });
}

/// Writes a file again whose name was removed while a program still wrote to it.
Result<bool> write_again(Disk& disk, const File& file, const Dir& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const auto fd, disk.create(folder, name, kPrivateCopy));
  RETURN_IF_ERROR(copy_to_file(disk, file, fd.get()));
  return false;
}

Result<bool> remove_copied_file(Disk& disk, const Dir& folder, const std::string& name, const Dir& copy,
                                const std::string& copy_name) {
  FileStat before;
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name, &before));
  if (is_open_for_writing(file, kWriterPatience) || !is_same(file, copy, copy_name)) {
    return false;
  }
  RETURN_IF_ERROR(disk.remove(folder, name));
  const bool is_still_written = is_open_for_writing(file, kWriterPatience);
  const auto now = file.stat();
  return !is_still_written && now && *now == before ? Result<bool>(true) : write_again(disk, file, folder, name);
}

Result<bool> remove_copied_any(Disk& disk, const Dir& folder, const std::string& name, const Dir& copy,
                               const std::string& copy_name, int depth) {
  ASSIGN_OR_RETURN(const auto st, folder.stat(name));
  if (S_ISREG(st.mode)) {
    return remove_copied_file(disk, folder, name, copy, copy_name);
  }
  const auto theirs = copy.open_in(copy_name);
  if (!S_ISDIR(st.mode) || !theirs) {
    const bool goes = S_ISLNK(st.mode) && is_same_link(folder, name, copy, copy_name);
    RETURN_IF_ERROR(goes ? disk.remove(folder, name) : Result<void>());
    return goes;
  }
  if (depth >= kMaxDepth) {
    return too_deep();
  }
  ASSIGN_OR_RETURN(const auto below, folder.open_in(name));
  ASSIGN_OR_RETURN(const auto entries, below.list());
  bool is_all = true;
  for (const DirEntry& entry : entries) {
    ASSIGN_OR_RETURN(const bool is_gone, remove_copied_any(disk, below, entry.name, *theirs, entry.name, depth + 1));
    is_all = is_all && is_gone;
  }
  if (!is_all) {
    return false;
  }
  const auto removed = disk.remove_folder(folder, name);
  const auto left = removed ? Result<std::vector<DirEntry>>(std::vector<DirEntry>()) : below.list();
  return left && !left->empty() ? Result<bool>(false)  // a file was added meanwhile
         : removed              ? Result<bool>(true)
                                : removed.error();
}

}  // namespace

bool is_part_of(const Dir& one, const Dir& other, const std::string& name) {
  return is_equal(one, name, other, name, Equal::all_of_one, 0);
}

bool is_part_of(const Dir& one, const std::string& name, const Dir& other, const std::string& other_name) {
  return is_equal(one, name, other, other_name, Equal::all_of_one, 0);
}

bool is_continued(const Dir& one, const Dir& other, const std::string& name) {
  return is_equal(one, name, other, name, Equal::continued, 0);
}

bool agree(const Dir& one, const Dir& other, const std::string& name) {
  return is_equal(one, name, other, name, Equal::common, 0);
}

bool has_names_of(const Dir& one, const Dir& other, const std::string& name) {
  return is_equal(one, name, other, name, Equal::names, 0);
}

Result<bool> remove_copied(Disk& disk, const Dir& folder, const std::string& name, const Dir& copy,
                           const std::string& copy_name) {
  return remove_copied_any(disk, folder, name, copy, copy_name, 0);
}

Result<void> copy_to_file(Disk& disk, const File& source, int fd, bool sync) {
  ASSIGN_OR_RETURN(const auto st, source.stat());
  RETURN_IF_ERROR(copy_bytes(disk, source, fd));
  RETURN_IF_ERROR(copy_attributes(disk, source.fd(), st, fd));
  return sync ? disk.sync(fd) : Result<void>();
}

Result<void> copy_to_folder(Disk& disk, const Dir& source, const Dir& copy) {
  return fill_folder(disk, source, copy, 0);
}

Result<void> copy_tree(Disk& disk, const Dir& from, const std::string& name, const Dir& to,
                       const std::string& new_name) {
  if (to.stat(new_name)) {
    return Error{Errc::already_exists, "cannot copy: the name already exists"};
  }
  return copy_any(disk, from, name, to, new_name, 0);
}

Result<std::uint64_t> size_of_tree(const Dir& folder, const std::string& name) {
  return size_of_any(folder, name, 0);
}

Result<void> remove_tree(Disk& disk, const Dir& folder, const std::string& name) {
  return remove_any(disk, folder, name, 0);
}

}  // namespace arborfs
