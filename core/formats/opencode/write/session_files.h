// The files of sessions in OpenCode's folder `storage` (opencode/FORMAT.md A1). Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/opencode/write/storage_folder.h"

namespace arborfs::opencode {

/// A file of a session: `<kind>/<folder>/<name>`, or `<kind>/<name>` where `folder` is "".
struct StoredFile {
  std::string kind;
  std::string folder;
  std::string name;
  FileStat stat;
  bool operator==(const StoredFile&) const = default;
  /// Other sessions may have the same project.
  [[nodiscard]] bool is_shared() const { return kind == "project"; }
  [[nodiscard]] bool is_session() const { return kind == "session"; }
};

/// Opens folders of the storage. The one that was opened last stays open, as the next file is mostly in it too.
class LastFolder {
 public:
  explicit LastFolder(const StorageFolder& storage) : storage_(storage) {}
  /// Valid until the next call. Errors: as StorageFolder::folder().
  Result<const Dir*> of(const std::string& kind, const std::string& name = "");
  /// The folder is removed.
  void forget() { dir_.reset(); }

 private:
  const StorageFolder& storage_;
  std::string kind_;
  std::string name_;
  std::optional<Dir> dir_;
};

/// All files of sessions, in the order in which they are restored: each session after its parent; within a session the
/// parts before the messages, and the session's own file last. Errors: those of reading the folders.
Result<std::vector<StoredFile>> files_of(const StorageFolder& storage, const std::vector<SessionName>& sessions);

// Why a session in the trash cannot be restored: already_exists.
Error other_file_exists(const std::string& kind, const std::string& folder, const std::string& name);
Error other_session_exists(const std::string& name);

}  // namespace arborfs::opencode
