// The real disk, with one folder that can be on another file system: nothing can be renamed into it or out of it. Syncs
// nothing, so that loops over many changes are quick. Use one object from one thread.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "core/os/disk.h"

namespace arborfs::testing {

/// The path of an open folder.
inline std::string path_of(const Dir& folder) {
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(folder.fd())).string();
}

class SplitDisk : public Disk {
 public:
  /// From now on `folder` and everything below it are on another file system; "" for none.
  void set_apart(std::string folder) { apart_ = std::move(folder); }

  Result<void> sync(int /*fd*/) override { return {}; }
  Result<void> sync_folder(const Dir& /*folder*/) override { return {}; }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    if (!apart_.empty() && path_of(from).starts_with(apart_) != path_of(to).starts_with(apart_)) {
      return error_from_errno(EXDEV, "rename");
    }
    return Disk::rename(from, name, to, new_name, existing);
  }

 private:
  std::string apart_;
};

}  // namespace arborfs::testing
