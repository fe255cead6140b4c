#include "core/formats/opencode/write/moved_files.h"

#include <dirent.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/json_files.h"
#include "core/formats/opencode/json_texts.h"
#include "core/formats/opencode/write/session_files.h"
#include "core/os/file_tree.h"

namespace arborfs::opencode {
namespace {

constexpr const char* kProjectFiles = "project";
constexpr const char* kSessionFiles = "session";
constexpr const char* kPartFolders = "part";
constexpr const char* kMessageFolders = "message";
constexpr mode_t kPrivateFolder = 0700;
constexpr mode_t kPrivateCopy = 0600;
constexpr mode_t kModeOfCopies = 0777;
constexpr const char* kOneFile[] = {"todo", "session_diff", "session_share"};  // each has a file for a session

/// What belongs to a session beside its own file. The messages leave the storage last, and return first: they say which
/// parts are in the storage.
Result<void> move_rest(FileMover& mover, const StorageFolder& storage, const std::string& session) {
  MovedNames parts{kPartFolders, "", {}};
  ASSIGN_OR_RETURN(parts.names, all_ids_in(storage.folder(kMessageFolders, session)));
  RETURN_IF_ERROR(mover.move(parts));
  for (const char* const kind : kOneFile) {
    RETURN_IF_ERROR(mover.move({kind, "", {file_of_id(session)}}));
  }
  return mover.move({kMessageFolders, "", {session}});
}

/// Fails if both have a file of this name, with different bytes.
Result<void> check_file(const StorageFolder& trash, const StorageFolder& storage, const std::string& kind,
                        const std::string& folder, const std::string& name) {
  const auto there = storage.folder(kind, folder);
  const auto st = there ? there->stat(name) : Result<FileStat>(there.error());
  if (!st) {
    return st.error().code == Errc::not_found ? Result<void>() : Result<void>(st.error());
  }
  ASSIGN_OR_RETURN(const auto here, trash.folder(kind, folder));
  return is_part_of(here, *there, name) ? Result<void>() : Result<void>(other_file_exists(kind, folder, name));
}

/// The same for all files of a folder. One that only the trash has needs no look at its files.
Result<void> check_folder(const StorageFolder& trash, const StorageFolder& storage, const Dir& kind_in_storage,
                          const std::string& kind, const std::string& folder) {
  if (const auto st = kind_in_storage.stat(folder); !st) {
    return st.error().code == Errc::not_found ? Result<void>() : Result<void>(st.error());
  }
  ASSIGN_OR_RETURN(const auto names, names_in(trash, kind, folder, DT_REG));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(check_file(trash, storage, kind, folder, name));
  }
  return {};
}

/// Fails if the storage has another session with this id.
Result<void> check_id(const StorageFolder& trash, const StorageFolder& storage, const SessionName& session) {
  const std::string name = file_of_id(session.id);
  return storage.each_project([&](const std::string& project, const Dir& sessions) -> Result<void> {
    const auto st = sessions.stat(name);
    if (!st) {
      return st.error().code == Errc::not_found ? Result<void>() : Result<void>(st.error());
    }
    if (project != session.folder || !check_file(trash, storage, kSessionFiles, project, name)) {
      return other_session_exists(name);
    }
    return {};
  });
}

}  // namespace

Disk::SyncSet MovedFiles::Unsynced::all() const {
  Disk::SyncSet set;
  for (const UniqueFd& file : files) {
    set.files.push_back(file.get());
  }
  for (const Dir& folder : folders) {
    set.folders.push_back(&folder);
  }
  return set;
}

Result<MovedFiles::Unsynced> MovedFiles::keep_projects(const std::vector<SessionName>& sessions) {
  RETURN_IF_ERROR(disk_.make_folder(trash_.root(), kProjectFiles, kPrivateFolder));
  ASSIGN_OR_RETURN(auto to, trash_.folder(kProjectFiles));
  const auto from = storage_.folder(kProjectFiles);
  Unsynced made;
  for (const SessionName& session : sessions) {
    const std::string name = file_of_id(session.folder);
    const auto st = from ? from->stat(name) : Result<FileStat>(from.error());
    if (!st || to.stat(name)) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto text, whole_text_in(*from, session.folder));
    ASSIGN_OR_RETURN(auto fd, disk_.create(to, name, kPrivateCopy));
    RETURN_IF_ERROR(write_all(disk_, fd.get(), text));
    RETURN_IF_ERROR(disk_.set_mode(fd.get(), st->mode & kModeOfCopies));
    RETURN_IF_ERROR(disk_.set_mtime(fd.get(), st->mtime_ns));
    made.files.push_back(std::move(fd));
  }
  made.folders.push_back(std::move(to));
  return made;
}

Result<void> MovedFiles::take(const std::vector<SessionName>& sessions, bool sync) {
  FileMover mover(disk_, storage_, trash_);
  for (auto session = sessions.rbegin(); session != sessions.rend(); ++session) {
    RETURN_IF_ERROR(mover.move({kSessionFiles, session->folder, {file_of_id(session->id)}}));
  }
  RETURN_IF_ERROR(mover.sync());  // even without `sync`: a session in the storage is complete
  for (const SessionName& session : sessions) {
    RETURN_IF_ERROR(move_rest(mover, storage_, session.id));
  }
  return sync ? mover.sync() : Result<void>();
}

Result<std::vector<SessionName>> MovedFiles::sessions() const {
  std::vector<SessionName> found;
  ASSIGN_OR_RETURN(const auto projects, names_in(trash_, kSessionFiles, "", DT_DIR));
  for (const std::string& project : projects) {
    ASSIGN_OR_RETURN(const auto ids, all_ids_in(trash_.folder(kSessionFiles, project)));
    for (const std::string& id : ids) {
      found.push_back({project, id});
    }
  }
  // Ids of later sessions sort first (opencode/FORMAT.md A4).
  std::sort(found.begin(), found.end(), [](const SessionName& a, const SessionName& b) { return a.id > b.id; });
  return found;
}

Result<void> MovedFiles::check_places() const {
  ASSIGN_OR_RETURN(const auto own, sessions());
  for (const SessionName& session : own) {
    RETURN_IF_ERROR(check_id(trash_, storage_, session));
  }
  for (const char* const kind : kOneFile) {
    ASSIGN_OR_RETURN(const auto names, names_in(trash_, kind, "", DT_REG));
    for (const std::string& name : names) {
      RETURN_IF_ERROR(check_file(trash_, storage_, kind, "", name));
    }
  }
  for (const char* const kind : {kPartFolders, kMessageFolders}) {
    ASSIGN_OR_RETURN(const auto folders, names_in(trash_, kind, "", DT_DIR));
    const auto there = storage_.folder(kind);
    for (const std::string& folder : folders) {
      RETURN_IF_ERROR(there ? check_folder(trash_, storage_, *there, kind, folder) : Result<void>());
    }
  }
  return {};
}

Result<void> MovedFiles::put_back() {
  FileMover mover(disk_, trash_, storage_);
  for (const char* const kind : {kMessageFolders, kPartFolders}) {
    ASSIGN_OR_RETURN(auto folders, names_in(trash_, kind, "", DT_DIR));
    RETURN_IF_ERROR(mover.move({kind, "", std::move(folders)}));
  }
  for (const char* const kind : kOneFile) {
    ASSIGN_OR_RETURN(auto names, names_in(trash_, kind, "", DT_REG));
    RETURN_IF_ERROR(mover.move({kind, "", std::move(names)}));
  }
  ASSIGN_OR_RETURN(auto projects, names_in(trash_, kProjectFiles, "", DT_REG));
  const auto present = storage_.folder(kProjectFiles);
  std::erase_if(projects, [&](const std::string& name) { return present && present->stat(name); });
  RETURN_IF_ERROR(mover.move({kProjectFiles, "", std::move(projects)}));
  RETURN_IF_ERROR(mover.sync());
  ASSIGN_OR_RETURN(const auto own, sessions());
  for (const SessionName& session : own) {
    RETURN_IF_ERROR(mover.move({kSessionFiles, session.folder, {file_of_id(session.id)}}));
  }
  return mover.sync();
}

}  // namespace arborfs::opencode
