// The folder `storage` of OpenCode's JSON files as a writer sees it (opencode/FORMAT.md F). Any thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/opencode/session_archive.h"
#include "core/formats/opencode/write/new_message.h"
#include "core/os/temp_file.h"

namespace arborfs::opencode {

/// The permissions of what OpenCode makes (opencode/FORMAT.md F1), to which the umask applies.
inline constexpr mode_t kFileMode = 0644;
inline constexpr mode_t kFolderMode = 0755;

/// The folder with its lock, which other processes of arborfs respect until this is destroyed.
class StorageFolder {
 public:
  /// Errors: busy if another process holds it for longer than the wait; those of opening it.
  static Result<StorageFolder> lock(const std::string& path);
  /// Without a lock, for reading.
  static Result<StorageFolder> open(const std::string& path);

  [[nodiscard]] const Dir& root() const { return root_; }
  /// A folder in it, as "message" and the id of a session. Errors: not_found; those of opening it.
  [[nodiscard]] Result<Dir> folder(const std::string& kind, const std::string& name = "") const;
  /// The same, but creates the folder, and syncs its name, if it is missing.
  [[nodiscard]] Result<Dir> make_folder(Disk& disk, const std::string& kind, const std::string& name = "") const;

  using VisitProject = std::function<Result<void>(const std::string& project, const Dir& sessions)>;
  /// Calls `visit` for the folder of each project that has sessions. Errors: those of opening the folders, except
  /// not_found; the first one of `visit`, which ends the calls.
  [[nodiscard]] Result<void> each_project(const VisitProject& visit) const;
  /// True if a project has the session. Errors: those of reading the store; the session may then be there.
  [[nodiscard]] Result<bool> has_session(const std::string& id) const;
  /// The session and those that were started from it, each after its parent. Errors: not_found; those of reading any
  /// session of the store, because it may be one of them.
  [[nodiscard]] Result<std::vector<SessionName>> family_of(const SessionName& session) const;
  /// Errors: busy if OpenCode answers in one of the sessions.
  [[nodiscard]] Result<void> check_quiet(const std::vector<SessionName>& sessions) const;

 private:
  StorageFolder(std::string path, Dir root) : path_(std::move(path)), root_(std::move(root)) {}
  std::string path_;
  Dir root_;
};

/// The path of the folder `storage` with this folder of sessions.
std::string storage_of(const std::string& sessions);

/// Removes the unfinished files that killed processes left in a folder (core/writer/new_file.h).
void clear_drafts(Disk& disk, const Dir& folder);

/// A file with this text that will be called `name`. If there is a file of that name, which it will replace, it has the
/// attributes of that (core/os/file_attributes.h). `mode`: the permissions of another one, if they are not those of a
/// new file. `folder` outlives it. Errors: io, no_space, not_permitted.
Result<TempFile::Ptr> draft_of(Disk& disk, const Dir& folder, const std::string& name, std::string_view text, bool sync,
                               std::optional<mode_t> mode = std::nullopt);

}  // namespace arborfs::opencode
