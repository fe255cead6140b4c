// Moves the files of sessions between OpenCode's folder `storage` and a folder of the trash, which has the same layout
// (opencode/FORMAT.md F1). Folders are renamed whole, so the cost does not depend on the number of parts. A session's
// own file is the first to leave the storage and the last to return: where it is, there is the session, and the rest is
// found in either place after a kill. Any thread.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/opencode/write/storage_folder.h"

namespace arborfs::opencode {

class MovedFiles {
 public:
  /// All outlive it; `storage` is locked.
  MovedFiles(Disk& disk, const StorageFolder& storage, const StorageFolder& trash)
      : disk_(disk), storage_(storage), trash_(trash) {}

  /// Copies the projects of the sessions, which other sessions share, to the trash. Returns what is to be synced.
  struct Unsynced {
    std::vector<UniqueFd> files;
    std::vector<Dir> folders;
    [[nodiscard]] Disk::SyncSet all() const;
  };
  Result<Unsynced> keep_projects(const std::vector<SessionName>& sessions);
  /// Moves what is in the storage of these sessions, each of which follows its parent, to the trash. On an error
  /// put_back() undoes it. Errors: those of the disk; unsupported if the trash is on another file system.
  Result<void> take(const std::vector<SessionName>& sessions, bool sync);
  /// The sessions in the trash, each after its parent.
  [[nodiscard]] Result<std::vector<SessionName>> sessions() const;
  /// Errors: already_exists if the storage has a session of one of the ids, or another file in the place of one.
  [[nodiscard]] Result<void> check_places() const;
  /// Moves everything in the trash to the storage, where existing files stay. On an error take() undoes it. Errors:
  /// those of the disk.
  Result<void> put_back();

 private:
  Disk& disk_;
  const StorageFolder& storage_;
  const StorageFolder& trash_;
};

/// Names in one folder: `<kind>/<folder>`, or `<kind>` where `folder` is "".
struct MovedNames {
  std::string kind;
  std::string folder;
  std::vector<std::string> names;
};

/// The names of a folder's entries of one type (DT_REG, DT_DIR); none if there is no such folder.
Result<std::vector<std::string>> names_in(const StorageFolder& storage, const std::string& kind,
                                          const std::string& folder, unsigned char type);

/// Moves files and folders between OpenCode's folder `storage` and a folder with the same layout, by renames. One
/// thread.
class FileMover {
 public:
  /// All outlive it.
  FileMover(Disk& disk, const StorageFolder& from, const StorageFolder& to) : disk_(disk), from_(from), to_(to) {}

  /// Names that do not exist are left out. If a folder exists in both places, its files are moved; existing files stay.
  /// Errors: those of the disk; unsupported across file systems.
  Result<void> move(const MovedNames& group);
  /// Syncs what was moved. Each name is in its new folder before it is gone from the old one.
  Result<void> sync();

 private:
  Result<Dir> make_target(const std::string& kind, const std::string& folder);
  Result<void> merge(const MovedNames& group, const std::string& name);
  Disk& disk_;
  const StorageFolder& from_;
  const StorageFolder& to_;
  // Since sync():
  std::set<std::pair<std::string, std::string>> touched_;
  bool has_made_kind_ = false;
};

}  // namespace arborfs::opencode
