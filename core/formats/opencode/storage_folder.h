// The folder `storage` of OpenCode's JSON files as a writer sees it (opencode/FORMAT.md F). Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/opencode/new_message.h"
#include "core/formats/opencode/session_archive.h"
#include "core/os/temp_file.h"
#include "core/store/effect.h"

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

/// Removes the unfinished files that killed processes left in a folder (core/write/new_file.h).
void clear_drafts(Disk& disk, const Dir& folder);

/// A file with this text that will be called `name`. If there is a file of that name, which it will replace, it has the
/// attributes of that (core/os/file_tree.h). `mode`: the permissions of another one, if they are not those of a
/// new file. `folder` outlives it. Errors: io, no_space, not_permitted.
Result<TempFile::Ptr> draft_of(Disk& disk, const Dir& folder, const std::string& name, std::string_view text, bool sync,
                               std::optional<mode_t> mode = std::nullopt);

/// The text of a session with another title; everything else stays byte for byte. Errors: corrupt if it is not a JSON
/// object.
Result<std::string> with_title(const std::string& session, std::string_view title);
/// With a later time of its last change; unchanged if it has none, or a later one.
std::string with_time(const std::string& session, std::int64_t time_ms);

/// True if messages of the session are undone.
bool has_revert(std::string_view session);

/// Files that are written one after the other, and removed if one of them fails: the last one first, as far as that
/// goes, so that no message loses its parts. A project stays if another program has changed it or has added
/// a session to it.
class FileBatch {
 public:
  /// `storage` is the path of the folder, and `permissions` are those that the files may have. Both of the others
  /// outlive it.
  FileBatch(Disk& disk, const std::string& storage, mode_t permissions, bool sync)
      : disk_(disk), storage_(storage), permissions_(permissions), sync_(sync) {}
  ~FileBatch();
  FileBatch(const FileBatch&) = delete;
  FileBatch& operator=(const FileBatch&) = delete;

  /// `folders` are below the storage.
  Result<void> write(const std::vector<std::string>& folders, const std::string& name, std::string_view text);
  enum class Layout { compact, indented };
  /// A message and its parts, which come first.
  Result<void> write(const std::string& session, const MessageRecords& message, Layout layout);
  /// The files stay. Returns that they were made, the first one first.
  std::vector<Effect> keep();

 private:
  struct Made {
    std::vector<std::string> folders;
    std::string name;
    std::string text;
  };
  [[nodiscard]] bool is_in_use(const Dir& folder, const Made& project) const;
  [[nodiscard]] bool remove(const Made& made);

  Disk& disk_;
  const std::string& storage_;
  const mode_t permissions_;
  const bool sync_;
  std::vector<Made> made_;
};

/// The folder of projects in the storage, and the project of sessions that have no other.
inline constexpr std::string_view kProjects = "project";
inline constexpr std::string_view kGlobal = "global";
inline constexpr std::size_t kLongestProject = 1 << 20;

}  // namespace arborfs::opencode
