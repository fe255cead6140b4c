#include "core/os/links.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "core/base/error.h"
#include "core/os/submounts.h"

namespace arborfs {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

Error link_error(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENOTDIR:
      return {Errc::corrupt, "a link that leads nowhere"};
    case ELOOP:
      return {Errc::corrupt, "a link in a loop of links"};
    default:
      return error_from_errno(errnum, "cannot follow the link");
  }
}

/// Follows a link that stays on the file system of `dir`; -1 and errno EXDEV if it does not.
UniqueFd open_on_same_mount(const Dir& dir, const std::string& name) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, dir.fd(), name.c_str(), &how, sizeof how)));
}

}  // namespace

std::vector<std::string> path_components(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  return parts;
}

Error own_mount() {
  return {Errc::not_permitted, "it is in a mount of arborfs"};
}

Result<std::string> real_path_outside(const std::string& path, const std::set<std::string>& mounts) {
  const auto first = path_components(path);
  std::deque<std::string> rest(first.begin(), first.end());
  std::string real;
  for (int links = 0; !rest.empty();) {
    const std::string part = std::move(rest.front());
    rest.pop_front();
    if (part == "..") {
      real.erase(real.empty() ? 0 : real.rfind('/'));
      continue;
    }
    const std::string next = real + "/" + part;
    if (mounts.count(next) != 0) {
      return own_mount();
    }
    const auto target = link_target(next);
    if (!target) {
      real = next;
      continue;
    }
    if (++links > kMostLinks) {
      return link_error(ELOOP);
    }
    if (target->starts_with('/')) {
      real.clear();
    }
    const auto inserted = path_components(*target);
    rest.insert(rest.begin(), inserted.begin(), inserted.end());
  }
  return real;
}

Result<UniqueFd> end_of_link(const Dir& dir, const std::string& name) {
  UniqueFd fd = open_on_same_mount(dir, name);
  if (fd) {
    return fd;
  }
  if (errno != EXDEV && errno != ENOSYS && errno != EPERM) {
    return link_error(errno);
  }
  const auto folder = link_target("/proc/self/fd/" + std::to_string(dir.fd()));
  if (!folder) {
    return link_error(ENOENT);
  }
  ASSIGN_OR_RETURN(const auto real, real_path_outside(*folder + "/" + name, mount_points_of("fuse.arborfs")));
  fd = UniqueFd(::open(real.empty() ? "/" : real.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return fd ? Result<UniqueFd>(std::move(fd)) : link_error(errno);
}

bool leads_into(const std::set<std::string>& mounts, const std::string& path) {
  const auto real = real_path_outside(path, mounts);
  return !real && real.error().code == own_mount().code;
}

}  // namespace arborfs
