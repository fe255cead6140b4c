#include "core/formats/opencode/write/storage_folder.h"

#include <dirent.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/json_archive.h"
#include "core/formats/opencode/json_faults.h"
#include "core/formats/opencode/json_files.h"
#include "core/formats/opencode/json_texts.h"
#include "core/json/json_cursor.h"
#include "core/writer/new_file.h"

namespace arborfs::opencode {
namespace {

constexpr std::chrono::seconds kPatienceForLock{5};
constexpr std::chrono::milliseconds kBetweenLockTries{1};
constexpr mode_t kPrivateMode = 0600;
constexpr mode_t kPermissions = 0777;

}  // namespace

Result<StorageFolder> StorageFolder::open(const std::string& path) {
  ASSIGN_OR_RETURN(auto root, Dir::open_root(path));
  return StorageFolder(path, std::move(root));
}

Result<StorageFolder> StorageFolder::lock(const std::string& path) {
  ASSIGN_OR_RETURN(auto folder, open(path));
  const auto until = std::chrono::steady_clock::now() + kPatienceForLock;
  while (::flock(folder.root_.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > until) {
      return Error{Errc::busy, "another arborfs process is writing to OpenCode's files; try again"};
    }
    std::this_thread::sleep_for(kBetweenLockTries);
  }
  return folder;
}

Result<Dir> StorageFolder::folder(const std::string& kind, const std::string& name) const {
  ASSIGN_OR_RETURN(auto dir, root_.open_in(kind));
  if (name.empty()) {
    return dir;
  }
  return is_plain_name(name) ? dir.open_in(name) : Result<Dir>(Errc::not_found, "no such folder");
}

Result<Dir> StorageFolder::make_folder(Disk& disk, const std::string& kind, const std::string& name) const {
  if (auto there = folder(kind, name); there || there.error().code != Errc::not_found) {
    return there;
  }
  RETURN_IF_ERROR(disk.make_folder(root_, kind, kFolderMode));
  RETURN_IF_ERROR(disk.sync_folder(root_));
  ASSIGN_OR_RETURN(auto dir, root_.open_in(kind));
  if (name.empty()) {
    return dir;
  }
  if (!is_plain_name(name)) {
    return Error{Errc::invalid_argument, "the id is not a valid folder name"};
  }
  RETURN_IF_ERROR(disk.make_folder(dir, name, kFolderMode));
  RETURN_IF_ERROR(disk.sync_folder(dir));
  return dir.open_in(name);
}

Result<void> StorageFolder::each_project(const VisitProject& visit) const {
  const auto sessions = folder("session");
  const auto projects = sessions ? sessions->list() : Result<std::vector<DirEntry>>(sessions.error());
  if (!projects) {
    return projects.error().code == Errc::not_found ? Result<void>() : Result<void>(projects.error());
  }
  for (const DirEntry& project : *projects) {
    const auto dir = project.type == DT_DIR ? sessions->open_in(project.name) : Result<Dir>(Errc::not_found, "");
    if (dir) {
      RETURN_IF_ERROR(visit(project.name, *dir));
    } else if (dir.error().code != Errc::not_found) {
      return dir.error();
    }
  }
  return {};
}

Result<bool> StorageFolder::has_session(const std::string& id) const {
  bool is_there = false;
  const auto look = [&](const std::string& /*project*/, const Dir& sessions) -> Result<void> {
    const auto found = sessions.stat(file_of_id(id));
    is_there = is_there || found;
    return found || found.error().code == Errc::not_found ? Result<void>() : Result<void>(found.error());
  };
  const auto looked = each_project(look);
  return is_there || looked ? Result<bool>(is_there) : looked.error();
}

Result<std::vector<SessionName>> StorageFolder::family_of(const SessionName& session) const {
  std::map<std::string, std::vector<SessionName>> by_parent;
  bool is_there = false;
  const auto note_parents = [&](const std::string& project, const Dir& dir) -> Result<void> {
    ASSIGN_OR_RETURN(const auto ids, all_ids_in(dir));
    for (const std::string& id : ids) {
      const auto text = whole_text_in(dir, id);
      if (!text && text.error().code == Errc::not_found) {
        continue;  // removed meanwhile
      }
      RETURN_IF_ERROR(text);
      is_there = is_there || SessionName{project, id} == session;
      const auto parent = skim::string_value(skim::member(*text, "parentID"));
      by_parent[parent.value_or("")].push_back({project, id});
    }
    return {};
  };
  RETURN_IF_ERROR(each_project(note_parents));
  if (!is_there) {
    return session_gone();
  }
  std::vector<SessionName> found{session};
  std::set<std::string> known{session.id};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const SessionName& child : by_parent[found[i].id]) {
      if (known.insert(child.id).second) {
        found.push_back(child);
      }
    }
  }
  return found;
}

Result<void> StorageFolder::check_quiet(const std::vector<SessionName>& sessions) const {
  const auto archive = make_json_archive(path_);
  for (const SessionName& session : sessions) {
    if (archive->is_answering(session)) {
      return Error{Errc::busy,
                   "OpenCode is answering in the session " + session.id + "; wait for the end of the answer"};
    }
  }
  return {};
}

std::string storage_of(const std::string& sessions) {
  return sessions.substr(0, sessions.rfind('/'));
}

void clear_drafts(Disk& disk, const Dir& folder) {
  remove_leftovers(disk, folder, is_draft_name);
}

Result<TempFile::Ptr> draft_of(Disk& disk, const Dir& folder, const std::string& name, std::string_view text, bool sync,
                               std::optional<mode_t> mode) {
  const auto present = File::open_in(folder, name);
  ASSIGN_OR_RETURN(auto draft, TempFile::create(disk, folder, present || mode ? kPrivateMode : kFileMode));
  if (present) {
    RETURN_IF_ERROR(draft->keep_attributes(*present));
  } else if (mode) {
    RETURN_IF_ERROR(disk.set_mode(draft->fd(), *mode & kPermissions));
  }
  RETURN_IF_ERROR(draft->write(text));
  RETURN_IF_ERROR(draft->finish(sync));
  return draft;
}

}  // namespace arborfs::opencode
