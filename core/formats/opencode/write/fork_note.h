// The note of a fork that is being written to OpenCode's JSON files (adopt_files.h): the new ids of its session and its
// messages, by which the next writer finds the files of a killed one. It is a file in the folder `storage`, in which
// OpenCode looks only at folders, and is locked while its writer lives. Any thread.
#pragma once

#include <string>

#include "core/formats/opencode/write/adopted_session.h"
#include "core/formats/opencode/write/storage_folder.h"

namespace arborfs::opencode {

class ForkNote {
 public:
  /// Nothing of the session is written yet. Also calls clear_killed_forks(). `disk` outlives the result. Errors: those
  /// of the disk and of StorageFolder::lock().
  static Result<ForkNote> make(Disk& disk, const std::string& storage, const AdoptedSession& session, bool sync);
  ForkNote(ForkNote&& other) noexcept;
  ForkNote& operator=(ForkNote&&) = delete;
  /// Removes the note, and the files of the session unless it is complete.
  ~ForkNote();

 private:
  ForkNote(Disk& disk, std::string storage, std::string name, UniqueFd lock)
      : disk_(disk), storage_(std::move(storage)), name_(std::move(name)), lock_(std::move(lock)) {}
  Disk& disk_;
  const std::string storage_;
  std::string name_;  // "" after a move
  UniqueFd lock_;
};

/// Removes the messages and parts of sessions that were not complete when their writer was killed. `storage` is locked.
void clear_killed_forks(Disk& disk, const StorageFolder& storage);

}  // namespace arborfs::opencode
