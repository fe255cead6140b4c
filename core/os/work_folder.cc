#include "core/os/work_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/os/submounts.h"

namespace arborfs {
namespace {

bool begins_with(const std::vector<std::string>& parts, const std::vector<std::string>& start) {
  return parts.size() >= start.size() && std::equal(start.begin(), start.end(), parts.begin());
}

}  // namespace

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
