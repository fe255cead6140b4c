#include "core/formats/goat/write/goat_trash.h"

#include <sys/file.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/result_macros.h"
#include "core/os/file_tree.h"
#include "core/os/temp_file.h"
#include "core/writer/new_uuid.h"

namespace arborfs {
namespace {

constexpr mode_t kPrivateFolder = 0700;

/// Copies the folder into one with a temporary name, which is locked meanwhile, and then renames it. Errors:
/// already_exists; those of copy_tree.
Result<void> copy_folder(Disk& disk, const Dir& from, const Dir& to, const std::string& name) {
  ASSIGN_OR_RETURN(const auto unique, new_uuid());
  const std::string draft = temporary_name(unique);
  RETURN_IF_ERROR(disk.make_folder(to, draft, kPrivateFolder));
  const auto copy = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(const auto drafts, to.open_in(draft));
    ::flock(drafts.fd(), LOCK_EX | LOCK_NB);
    RETURN_IF_ERROR(copy_tree(disk, from, name, drafts, name));
    return disk.rename(drafts, name, to, name, Disk::Existing::keep);
  };
  const auto done = copy();
  static_cast<void>(remove_tree(disk, to, draft));
  return done ? disk.sync_folder(to) : done;
}

constexpr std::string_view kLockSuffix = ".lock";

/// Lock files have no content, and the caller has one of them open.
Result<void> remove_locks(Disk& disk, const Dir& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const auto session, folder.open_in(name));
  ASSIGN_OR_RETURN(const auto entries, session.list());
  for (const DirEntry& entry : entries) {
    RETURN_IF_ERROR(entry.name.ends_with(kLockSuffix) ? disk.remove(session, entry.name) : Result<void>());
  }
  return {};
}

/// Removes a folder that was copied to `to`. It is renamed first, so that no program can open its files by name. If a
/// program has written to a file since it was copied, the folder gets its name back: stale. If one writes to a file
/// during the removal, that file stays in the folder.
Result<void> remove_original(Disk& disk, const Dir& folder, const std::string& name, const Dir& to) {
  ASSIGN_OR_RETURN(const auto unique, new_uuid());
  const std::string hidden = temporary_name(unique);
  ASSIGN_OR_RETURN(const auto locked, folder.open_in(name));  // so that it is not left over
  ::flock(locked.fd(), LOCK_EX | LOCK_NB);
  RETURN_IF_ERROR(disk.rename(folder, name, folder, hidden, Disk::Existing::keep));
  RETURN_IF_ERROR(disk.sync_folder(folder));
  if (!is_part_of(folder, hidden, to, name)) {
    RETURN_IF_ERROR(disk.rename(folder, hidden, folder, name, Disk::Existing::keep));
    return Error{Errc::stale, "another program wrote to the session meanwhile; try again"};
  }
  const auto unlocked = remove_locks(disk, folder, hidden);
  const auto removed = unlocked ? remove_copied(disk, folder, hidden, to, name) : Result<bool>(unlocked.error());
  if (removed && !*removed) {
    static_cast<void>(disk.rename(folder, hidden, folder, name, Disk::Existing::keep));
  }
  return {};
}

/// True if `store` has every file that the session has in the trash. Lock files have no content, and a power cut may
/// have undone their creation.
bool has_all_of(const Dir& trash, const Dir& store, const std::string& name) {
  const auto theirs = trash.open_in(name);
  const auto mine = store.open_in(name);
  const auto entries = theirs ? theirs->list() : Result<std::vector<DirEntry>>(theirs.error());
  return mine && entries && std::all_of(entries->begin(), entries->end(), [&](const DirEntry& entry) {
           return entry.name.ends_with(kLockSuffix) || is_part_of(*theirs, *mine, entry.name);
         });
}

/// Errors: unsupported across file systems, already_exists; the folder is then where it was.
Result<void> rename_folder(Disk& disk, const Dir& from, const Dir& to, const std::string& name) {
  RETURN_IF_ERROR(disk.rename(from, name, to, name, Disk::Existing::keep));
  RETURN_IF_ERROR(disk.sync_folder(to));
  return disk.sync_folder(from);
}

Result<void> move_folder(Disk& disk, const Dir& from, const Dir& to, const std::string& name) {
  auto moved = rename_folder(disk, from, to, name);
  if (moved || moved.error().code != Errc::unsupported) {
    return moved;
  }
  RETURN_IF_ERROR(copy_folder(disk, from, to, name));
  return remove_original(disk, from, name, to);
}

}  // namespace

Result<Trashed> GoatTrash::take(const SessionStore& store, const LogPlace& place, const std::string& title) {
  const Trashed trashed = describe(store, place, title);
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(store.paths().sessions));
  ASSIGN_OR_RETURN(const auto there, make_folder(trashed));
  auto done = write_note(there, trashed);
  done = done ? move_folder(disk(), base, there.files, place.folder) : done;
  if (done) {
    return trashed;
  }
  if (!base.stat(place.folder)) {
    static_cast<void>(disk().rename(there.files, place.folder, base, place.folder, Disk::Existing::keep));
  } else if (there.files.stat(place.folder)) {
    static_cast<void>(remove_tree(disk(), there.files, place.folder));
  }
  if (!base.stat(place.folder)) {
    return Error{done.error().code, done.error().message + "; the session is in the trash"};
  }
  if (disk().remove_folder(there.folder, std::string(kFiles))) {
    static_cast<void>(remove_tree(disk(), there.root, there.name));
  }
  return done.error();
}

Result<void> GoatTrash::restore(const Trashed& trashed) {
  ASSIGN_OR_RETURN(const auto there, open(trashed));
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(trashed.sessions));
  RETURN_IF_ERROR(lock_for_restore(there));
  const std::string& name = trashed.place.folder;
  const bool is_here = base.stat(name).has_value();
  const bool is_there = there.files.stat(name).has_value();
  if (is_here && is_there && !has_all_of(there.files, base, name)) {
    return Error{Errc::already_exists, folder_path(trashed.sessions, name) +
                                           " exists again; move it away and run: arborfs restore " + trashed.name};
  }
  if (!is_here) {
    auto moved = rename_folder(disk(), there.files, base, name);
    const bool is_apart = !moved && moved.error().code == Errc::unsupported;
    RETURN_IF_ERROR(is_apart ? copy_folder(disk(), there.files, base, name) : moved);
  }
  drop(there);
  return {};
}

}  // namespace arborfs
