// The files storage/session_diff/<session>.json, which OpenCode writes in addition to its database too: the changes of
// a session (opencode/FORMAT.md F1, G4). A session may have none. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/os/disk.h"

namespace arborfs::opencode {

class DiffFiles {
 public:
  /// `data` is the folder with the database.
  DiffFiles(Disk& disk, std::string data) : disk_(disk), data_(std::move(data)) {}
  /// Copies those of the sessions to a folder, which the caller syncs. Errors: io, permission, no_space.
  Result<void> copy_to(const Dir& folder, const std::vector<std::string>& sessions) const;
  /// Copies them back to a folder, which is created if it is missing; existing files stay unchanged. Errors:
  /// already_exists if an existing file has different content; io, permission, no_space.
  Result<void> copy_back(const Dir& folder, const std::vector<std::string>& sessions) const;
  /// Leaves files that cannot be removed: OpenCode ignores them without the session.
  void remove(const std::vector<std::string>& sessions) const;

 private:
  [[nodiscard]] Result<Dir> open() const;
  [[nodiscard]] Result<Dir> make() const;
  Disk& disk_;
  const std::string data_;
};

}  // namespace arborfs::opencode
