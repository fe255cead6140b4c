// Sessions of OpenCode's JSON files in a trash on another file system (moved_files.h is for the same one): the texts of
// all their files, including those of shares, are lines of JSON (row_text.h) in the file files.jsonl. They are complete
// on the disk before the first file is removed. Any thread.
#pragma once

#include <vector>

#include "core/formats/opencode/write/session_files.h"
#include "core/formats/opencode/write/storage_folder.h"

namespace arborfs::opencode {

class CopiedFiles {
 public:
  /// All outlive it; `storage` is locked.
  CopiedFiles(Disk& disk, const StorageFolder& storage, const Dir& trash)
      : disk_(disk), storage_(storage), trash_(trash) {}

  struct Saved {
    std::vector<SessionName> sessions;
    std::vector<StoredFile> files;
  };
  /// Copies a session, with those that were started from it. Errors: busy while OpenCode answers, unless it is forced;
  /// those of the disk.
  Result<Saved> save(const SessionName& session, bool is_forced);
  /// Errors: stale if the sessions have changed since they were saved.
  [[nodiscard]] Result<void> check_unchanged(const Saved& saved) const;
  /// Removes what was saved. On an error put_back() undoes it. Errors: stale; those of the disk.
  Result<void> remove(const Saved& saved, bool sync);
  /// Writes the files again; existing files stay.
  Result<void> put_back();
  /// The same, unless the storage has a session of one of the ids, or another file in the place of one: already_exists.
  /// An error leaves the storage as it was.
  Result<void> restore();

  /// True if the storage lacks a file that was saved.
  [[nodiscard]] Result<bool> is_file_missing() const;

  /// True if a folder of the trash has sessions that were saved here.
  static bool is_in(const Dir& trash);

 private:
  Disk& disk_;
  const StorageFolder& storage_;
  const Dir& trash_;
};

}  // namespace arborfs::opencode
