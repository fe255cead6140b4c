// The trash for sessions in OpenCode's JSON files. A session is moved with the sessions that were started from it,
// however deep: the texts of their files, including those of shares, are lines of JSON (row_text.h) in
// files/files.jsonl. They are complete on the disk before the first file is removed, so a kill at any point leaves each
// session complete in the store or in the trash. A restore replaces no file, and completes an earlier one that was
// killed. Any thread.
#pragma once

#include <string>

#include "core/formats/opencode/write/storage_folder.h"
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
  /// the disk. The sessions are then in the store, unless the message says that a copy is in the trash.
  Result<void> take(const SessionStore& store, const LogPlace& place, const std::string& title,
                    const opencode::StorageFolder& storage, How how);
  /// Errors: already_exists if the store has a session of one of the ids, or another file in the place of one, unless a
  /// restore was killed after it had brought it back; io, no_space; busy while another process restores it.
  Result<void> restore(const Trashed& trashed);

 private:
  struct Saved;
  Result<Saved> save(const opencode::SessionName& session, const opencode::StorageFolder& storage,
                     const TrashFolder& folder, How how);
  static Result<void> check_unchanged(const Saved& saved, const opencode::StorageFolder& storage);
  Result<void> try_take(const Trashed& trashed, const opencode::StorageFolder& storage, How how);
};

}  // namespace arborfs
