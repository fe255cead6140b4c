// The trash for sessions in OpenCode's JSON files. A session is moved with the sessions that were started from it,
// however deep: by renames (moved_files.h), or by copies if the trash is on another file system (copied_files.h). A
// kill at any point leaves each session complete in the store or in the trash. A restore replaces no file, and
// completes an earlier one that was killed. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/opencode/write/moved_files.h"
#include "core/writer/trash.h"

namespace arborfs {

class OpenCodeFileTrash : public Trash {
 public:
  using Trash::Trash;
  struct How {
    bool sync = true;
    bool force = false;  // even while OpenCode is answering in one of the sessions
  };
  /// `storage` is locked. Errors: not_found; busy while OpenCode answers; stale if the sessions keep changing; those of
  /// the disk. The sessions are then in the store, unless the message says that they, or copies, are in the trash.
  Result<void> take(const SessionStore& store, const LogPlace& place, const std::string& title,
                    const opencode::StorageFolder& storage, How how);
  /// Errors: already_exists if the store has a session of one of the ids, or another file in the place of one, unless a
  /// restore was killed after it had brought it back; io, no_space; busy while another process restores it.
  Result<void> restore(const Trashed& trashed);
  /// Moves the files that a killed removal or restore left in a store to their sessions in the trash. `sessions` is the
  /// store's folder of sessions; `storage` is locked.
  void finish(const std::string& sessions, const opencode::StorageFolder& storage);
  /// The same for one session in the trash; locks its storage. Errors: busy; already_exists if the store has only a
  /// part of it; those of the disk.
  Result<void> finish(const Trashed& trashed);

 private:
  Result<void> prepare(const Trashed& trashed, const TrashFolder& there, opencode::MovedFiles& moved,
                       const std::vector<opencode::SessionName>& sessions);
  Result<void> move(const Trashed& trashed, const opencode::StorageFolder& storage, How how);
  Result<void> copy(const Trashed& trashed, const opencode::StorageFolder& storage, How how);
  Result<void> finish_moved(const TrashFolder& there, const opencode::StorageFolder& storage);
};

}  // namespace arborfs
