#include "core/os/work_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "core/base/result_macros.h"
#include "core/os/submounts.h"

namespace arborfs {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

Error own_mount() {
  return {Errc::not_permitted, "it is in a mount of arborfs"};
}

/// The path without links. Unlike realpath(3), it accesses no file system that is in `mounts`.
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
      return Error{Errc::not_found, path + ": too many symbolic links"};
    }
    if (target->starts_with('/')) {
      real.clear();
    }
    const auto inserted = path_components(*target);
    rest.insert(rest.begin(), inserted.begin(), inserted.end());
  }
  return real;
}

bool begins_with(const std::vector<std::string>& parts, const std::vector<std::string>& start) {
  return parts.size() >= start.size() && std::equal(start.begin(), start.end(), parts.begin());
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

Result<WorkFolder> WorkFolder::open(const std::string& path) {
  if (!path.starts_with('/')) {
    return Error{Errc::invalid_argument, "the session has no absolute working directory"};
  }
  auto mounts = mount_points_of("fuse.arborfs");
  ASSIGN_OR_RETURN(auto real, real_path_outside(path, mounts));
  if (real.empty()) {
    return Error{Errc::invalid_argument, "the session's working directory is the root of the file system"};
  }
  ASSIGN_OR_RETURN(auto dir, Dir::open_root(real));
  return WorkFolder(std::move(dir), path, std::move(real), std::move(mounts));
}

Result<std::vector<std::string>> WorkFolder::parts_of(std::string_view path) const {
  auto parts = path_components(path);
  if (path.starts_with('/')) {
    std::size_t skipped = 0;
    for (const std::string* const start : {&spelled_, &real_}) {
      const auto begin = path_components(*start);
      skipped = skipped == 0 && begins_with(parts, begin) ? begin.size() : skipped;
    }
    parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(skipped == 0 ? parts.size() : skipped));
  }
  for (const std::string& part : parts) {
    if (!is_plain_name(part)) {
      parts.clear();
      break;
    }
  }
  if (parts.empty() || path.ends_with('/')) {
    return Error{Errc::not_permitted, "it is not a file below the session's working directory"};
  }
  return parts;
}

Result<void> WorkFolder::keep_out(const FileStat& folder) {
  closed_.push_back(folder);
  std::string path;
  for (const std::string& part : path_components(real_)) {
    path += "/" + part;
    const auto above = Dir::stat_root(path);
    if (above && above->same_file(folder)) {
      return Error{Errc::not_permitted, "the session's working directory is in a folder that has sessions"};
    }
  }
  return {};
}

Result<Dir> WorkFolder::enter(const Dir& folder, const std::vector<std::string>& parts, std::size_t depth) const {
  std::string path = real_;
  for (std::size_t at = 0; at <= depth; ++at) {
    path += "/" + parts[at];
  }
  if (mounts_.count(path) != 0) {
    return own_mount();
  }
  const auto found = folder.stat(parts[depth]);
  if (found && !S_ISDIR(found->mode)) {
    return Error{Errc::not_permitted, "a part of its path is not a folder"};
  }
  ASSIGN_OR_RETURN(auto dir, folder.open_in(parts[depth]));
  ASSIGN_OR_RETURN(const auto seen, dir.stat());
  for (const FileStat& closed : closed_) {
    if (closed.same_file(seen)) {
      return Error{Errc::not_permitted, "it is in a folder that has sessions"};
    }
  }
  return dir;
}

Result<Dir> WorkFolder::folder_of(const std::vector<std::string>& parts) const {
  ASSIGN_OR_RETURN(auto dir, Dir::open_root("/proc/self/fd/" + std::to_string(dir_.fd())));
  for (std::size_t depth = 0; depth + 1 < parts.size(); ++depth) {
    ASSIGN_OR_RETURN(dir, enter(dir, parts, depth));
  }
  return dir;
}

}  // namespace arborfs
