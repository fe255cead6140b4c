// A folder that is filled under a temporary name and moved into place when it is complete. Used by one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "core/os/disk.h"

namespace arborfs::goat {

/// goat's modes, to which the umask applies.
inline constexpr mode_t kFolderMode = 0755;
inline constexpr mode_t kFileMode = 0644;

class NewFolder {
 public:
  /// `disk` and `parent` outlive it. `permissions`: those that it and its files may have. Errors: those of the disk.
  static Result<NewFolder> begin(Disk& disk, const Dir& parent, mode_t permissions, bool sync);
  /// Removes it unless it was published.
  ~NewFolder();
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  [[nodiscard]] const Dir& dir() const { return dir_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Errors: those of the disk.
  Result<void> put(const std::string& file, std::string_view bytes);
  /// Creates an empty file in it. Errors: those of the disk.
  Result<UniqueFd> create(const std::string& file);
  /// Renames it to its final name in the parent. Errors: already_exists; those of the disk.
  Result<void> publish(const std::string& name);
  /// Syncs that name to the disk. Errors: those of the disk; the folder then still has its name.
  Result<void> sync_name();

 private:
  NewFolder(Disk& disk, const Dir& parent, std::string name, Dir dir, mode_t permissions, bool sync)
      : disk_(&disk),
        parent_(&parent),
        name_(std::move(name)),
        dir_(std::move(dir)),
        permissions_(permissions),
        sync_(sync) {}
  Disk* disk_;
  const Dir* parent_;
  std::string name_;  // "" once published or moved from
  Dir dir_;
  mode_t permissions_;
  bool sync_;
};

}  // namespace arborfs::goat
