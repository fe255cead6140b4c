#include "core/os/file_attributes.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "core/base/result_macros.h"

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

}  // namespace arborfs
