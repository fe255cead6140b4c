#include "core/formats/opencode/write/file_trash.h"

#include <optional>

#include "core/base/result_macros.h"
#include "core/formats/opencode/opencode_format.h"
#include "core/formats/opencode/write/copied_files.h"
#include "core/formats/opencode/write/moved_files.h"

namespace arborfs {

namespace {

using opencode::CopiedFiles;
using opencode::MovedFiles;
using opencode::SessionName;
using opencode::StorageFolder;

/// How often the sessions are copied again because they changed before they could be removed.
constexpr int kMostCopies = 5;

SessionName session_of(const Trashed& trashed) {
  return {trashed.place.folder, std::string(trashed.place.stem())};
}

/// The session's files in the trash.
Result<StorageFolder> files_in(const TrashFolder& folder) {
  ASSIGN_OR_RETURN(auto files, folder.folder.open_in(std::string(Trash::kFiles)));
  return StorageFolder::at(std::move(files));
}

Error with_note(const Error& error, const std::string& note) {
  return {error.code, error.message + "; " + note};
}

}  // namespace

/// Afterwards the trash has everything but the sessions' own files.
Result<void> OpenCodeFileTrash::prepare(const Trashed& trashed, const TrashFolder& there, MovedFiles& moved,
                                        const std::vector<SessionName>& sessions) {
  ASSIGN_OR_RETURN(const auto projects, moved.keep_projects(sessions));
  Disk::SyncSet all = projects.all();
  all.folders.push_back(&there.files);
  return write_note(there, trashed, std::move(all));
}

Result<void> OpenCodeFileTrash::move(const Trashed& trashed, const StorageFolder& storage, How how) {
  const SessionName session = session_of(trashed);
  ASSIGN_OR_RETURN(const auto sessions, storage.family_of(session));
  RETURN_IF_ERROR(how.force ? Result<void>() : storage.check_quiet(sessions));
  ASSIGN_OR_RETURN(const auto there, make_folder(trashed));
  const auto files = files_in(there);
  if (!files) {
    drop(there);
    return files.error();
  }
  MovedFiles moved(disk(), storage, *files);
  auto done = prepare(trashed, there, moved, sessions);
  if (done) {
    done = moved.take(sessions, how.sync);
    if (!done && !moved.put_back()) {
      return with_note(done.error(), "the session is in the trash");
    }
  }
  if (!done) {
    drop(there);
    if (done.error().code == Errc::unsupported && has_note(there)) {
      return Error{Errc::io, done.error().message};  // a copy would be a second entry of the trash
    }
  }
  return done;
}

Result<void> OpenCodeFileTrash::copy(const Trashed& trashed, const StorageFolder& storage, How how) {
  ASSIGN_OR_RETURN(const auto there, make_folder(trashed));
  CopiedFiles copied(disk(), storage, there.files);
  const auto saved = copied.save(session_of(trashed), how.force);
  auto done = saved ? write_note(there, trashed) : Result<void>(saved.error());
  done = done ? copied.check_unchanged(*saved) : done;
  if (!done) {
    drop(there);
    return done;
  }
  done = copied.remove(*saved, how.sync);
  if (!done && !copied.put_back()) {
    return with_note(done.error(), "a copy of the session is in the trash");
  }
  if (!done) {
    drop(there);
  }
  return done;
}

Result<void> OpenCodeFileTrash::take(const SessionStore& store, const LogPlace& place, const std::string& title,
                                     const StorageFolder& storage, How how) {
  auto taken = move(describe(store, place, title), storage, how);
  if (taken || taken.error().code != Errc::unsupported) {
    return taken;
  }
  for (int copies = 1;; ++copies) {
    taken = copy(describe(store, place, title), storage, how);
    if (taken || taken.error().code != Errc::stale || copies == kMostCopies) {
      return taken;
    }
  }
}

Result<void> OpenCodeFileTrash::restore(const Trashed& trashed) {
  ASSIGN_OR_RETURN(const auto there, open(trashed));
  RETURN_IF_ERROR(lock_for_restore(there));
  ASSIGN_OR_RETURN(const auto storage, StorageFolder::lock(opencode::storage_of(trashed.sessions)));
  if (CopiedFiles::is_in(there.files)) {
    RETURN_IF_ERROR(CopiedFiles(disk(), storage, there.files).restore());
    drop(there);
    return {};
  }
  ASSIGN_OR_RETURN(const auto files, files_in(there));
  MovedFiles moved(disk(), storage, files);
  ASSIGN_OR_RETURN(const auto sessions, moved.sessions());
  RETURN_IF_ERROR(moved.check_places());
  if (auto done = moved.put_back(); !done) {
    static_cast<void>(moved.take(sessions, true));
    return done;
  }
  drop(there);
  return {};
}

/// A session that is in the storage too was brought back by another program, which may have gone on with it.
Result<void> OpenCodeFileTrash::finish_moved(const TrashFolder& there, const StorageFolder& storage) {
  ASSIGN_OR_RETURN(const auto files, files_in(there));
  MovedFiles moved(disk(), storage, files);
  ASSIGN_OR_RETURN(const auto sessions, moved.sessions());
  std::vector<SessionName> left;
  for (const SessionName& session : sessions) {
    ASSIGN_OR_RETURN(const bool has_it, storage.has_session(session.id));
    if (!has_it) {
      left.push_back(session);
    }
  }
  return moved.take(left, true);
}

Result<void> OpenCodeFileTrash::finish(const Trashed& trashed) {
  const auto storage = StorageFolder::lock(opencode::storage_of(trashed.sessions));
  if (!storage) {
    return storage.error().code == Errc::not_found ? Result<void>() : storage.error();
  }
  ASSIGN_OR_RETURN(const auto there, open(trashed));
  RETURN_IF_ERROR(lock_for_restore(there));
  if (!CopiedFiles::is_in(there.files)) {
    return finish_moved(there, *storage);
  }
  ASSIGN_OR_RETURN(const bool has_it, storage->has_session(session_of(trashed).id));
  if (!has_it) {
    return {};
  }
  ASSIGN_OR_RETURN(const bool is_partial, CopiedFiles(disk(), *storage, there.files).is_file_missing());
  return is_partial ? Result<void>(Errc::already_exists,
                                   "the store has only a part of this session; remove it there too, first")
                    : Result<void>();
}

void OpenCodeFileTrash::finish(const std::string& sessions, const StorageFolder& storage) {
  for (const Trashed& one : list()) {
    const bool is_of_store = one.format == opencode_files_format().name && one.sessions == sessions;
    const auto there = is_of_store ? open(one) : Result<TrashFolder>(Errc::not_found, "");
    if (there && lock_for_restore(*there)) {
      static_cast<void>(finish_moved(*there, storage));
    }
  }
}

}  // namespace arborfs
