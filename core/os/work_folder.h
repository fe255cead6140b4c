// The folder that an agent works in, and the files below it. Nothing leads out of it: no `..`, no symbolic link. No
// mount of arborfs is entered, because its daemon uses this. Reads only. Any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/links.h"

namespace arborfs {

class WorkFolder {
 public:
  /// Opens an absolute path; symbolic links in it are followed. Errors: invalid_argument if it is not absolute or is
  /// the root; not_permitted if a mount of arborfs is on the way; those of opening a folder.
  static Result<WorkFolder> open(const std::string& path);

  [[nodiscard]] const Dir& dir() const { return dir_; }
  /// The components of a path below the folder. A relative path begins at the folder, an absolute one with the
  /// folder's path, as it was spelled or without links. Errors: not_permitted if it leads elsewhere.
  [[nodiscard]] Result<std::vector<std::string>> parts_of(std::string_view path) const;
  /// Opens the folder that has the last one of these components. Errors: not_found; not_permitted for a mount of
  /// arborfs and for a folder that keep_out() named; those of Dir::open_in.
  [[nodiscard]] Result<Dir> folder_of(const std::vector<std::string>& parts) const;
  /// Opens the folder that has one more component below `folder`, by the rules of folder_of().
  [[nodiscard]] Result<Dir> enter(const Dir& folder, const std::vector<std::string>& parts, std::size_t depth) const;
  /// Makes everything in this folder unreachable. Errors: not_permitted if the work folder is that folder or is inside
  /// it.
  Result<void> keep_out(const FileStat& folder);

 private:
  WorkFolder(Dir dir, std::string spelled, std::string real, std::set<std::string> mounts)
      : dir_(std::move(dir)), spelled_(std::move(spelled)), real_(std::move(real)), mounts_(std::move(mounts)) {}

  Dir dir_;
  std::string spelled_;
  std::string real_;
  std::set<std::string> mounts_;  // of arborfs
  std::vector<FileStat> closed_;
};

}  // namespace arborfs
