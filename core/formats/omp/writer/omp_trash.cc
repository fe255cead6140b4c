#include "core/formats/omp/writer/omp_trash.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/formats/omp/store/omp_log_change.h"
#include "core/os/file_hash.h"
#include "core/os/file_tree.h"

namespace arborfs {

namespace {

/// The names of all files that belong to a log in its folder, the log last.
Result<std::vector<std::string>> log_last(const Dir& folder, const std::string& log) {
  auto names = omp_belongings(folder, log);
  if (names) {
    std::stable_partition(names->begin(), names->end(), [&](const std::string& name) { return name != log; });
  }
  return names;
}

/// Removes in reverse order.
void remove_all(Disk& disk, const Dir& folder, const std::vector<std::string>& names) {
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    static_cast<void>(remove_tree(disk, folder, *name));
  }
}

/// Copies all files of a log across file systems: first the log as a draft, which marks a copy in progress, then the
/// rest. The log gets its name when everything is there. An error leaves no files, and the remains of a killed copy do
/// not block the next one. One caller at a time. Errors: already_exists, io, no_space.
Result<void> copy_belongings(Disk& disk, const Dir& from, const std::string& log, const Dir& to) {
  const std::string draft = "." + log + ".0000000000000000.tmp";  // agents take it for a rewrite in progress
  ASSIGN_OR_RETURN(const auto names, log_last(from, log));
  if (to.stat(draft) && !to.stat(log)) {
    remove_all(disk, to, names);
    static_cast<void>(remove_tree(disk, to, draft));
  }
  if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return to.stat(name).has_value(); })) {
    return Error{Errc::already_exists, "the folder already has a session of that name"};
  }
  std::vector<std::string> copied{draft};
  auto done = copy_tree(disk, from, log, to, draft);
  done = done ? disk.sync_folder(to) : done;
  for (std::size_t i = 0; done && i < names.size(); ++i) {
    if (const std::string& name = (names)[i]; name != log) {
      copied.push_back(name);
      done = copy_tree(disk, from, name, to, name);
    }
  }
  done = done ? disk.rename(to, draft, to, log, Disk::Existing::keep) : done;
  if (done) {
    copied.push_back(log);
    done = disk.sync_folder(to);
  }
  if (!done) {
    remove_all(disk, to, copied);
  }
  return done;
}

/// Removes the files of a log that was copied and is gone already. Without the log agents ignore them; doctor reports
/// those that stay. Errors: io if a power cut may bring them all back.
Result<void> remove_belongings(Disk& disk, const Dir& folder, const std::string& log) {
  const auto names = log_last(folder, log);
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    static_cast<void>(remove_tree(disk, folder, (*names)[i]));
  }
  if (auto synced = disk.sync_folder(folder); !synced) {
    return Error{Errc::io, synced.error().message + "; the session is in the trash, but a power cut may bring it back"};
  }
  return {};
}

Result<std::string> hash_of(const Dir& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name));
  return sha256_of(file);
}

/// True if everything that belongs to the log is in `to` and the logs are equal: the copy is complete, and only the
/// original is left to remove.
bool is_copied(const Dir& from, const std::string& log, const Dir& to) {
  const auto names = log_last(from, log);
  const auto is_there = [&](const std::string& name) { return to.stat(name).has_value(); };
  if (!names || !std::all_of(names->begin(), names->end(), is_there)) {
    return false;
  }
  const auto original = hash_of(from, log);
  const auto copy = original ? hash_of(to, log) : original;
  return copy && *copy == *original;
}

/// Names the file that prevents a session from being restored, and the remedy.
Error name_is_taken(const Trashed& trashed, const Dir& folder) {
  const auto there = omp_belongings(folder, trashed.place.file);
  const bool is_beside = there && !there->empty() && !folder.stat(trashed.place.file);
  const std::string& name = is_beside ? there->front() : trashed.place.file;
  return {Errc::already_exists, folder_path(trashed.sessions, trashed.place.folder) + "/" + name +
                                    " exists again; move it away and run: arborfs restore " + trashed.name};
}

}  // namespace

/// take() across file systems, where a rename is impossible.
Result<void> OmpTrash::copy_away(SessionStore& store, const LogPlace& log, const Dir& files) {
  const auto source = store.folder(log);
  auto done = source ? copy_belongings(disk(), *source, log.file, files) : Result<void>(source.error());
  if (!done) {
    return done;
  }
  const auto before = hash_of(*source, log.file);
  const auto after = before ? hash_of(files, log.file) : before;
  done = after ? Result<void>() : Result<void>(after.error());
  if (after && *before != *after) {
    done = Error{Errc::io, "the copy in the trash differs from the log, so the session is not removed; try again"};
  }
  done = done ? disk().remove(*source, log.file) : done;
  if (done) {
    return remove_belongings(disk(), *source, log.file);
  }
  const auto names = log_last(files, log.file);
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    static_cast<void>(remove_tree(disk(), files, (*names)[i]));
  }
  return done;
}

/// Undoes a failed take(): moves the session back, and removes its folder in the trash if it is empty. Files that
/// cannot go back stay there with their note, to be restored.
void OmpTrash::give_back(SessionStore& store, const LogPlace& log, const TrashFolder& place) {
  if (place.files.stat(log.file)) {
    if (auto source = store.folder(log)) {
      static_cast<void>(move_omp_log(disk(), place.files, log.file, *source, log.file));
    }
  }
  if (disk().remove_folder(place.folder, std::string(Trash::kFiles))) {
    static_cast<void>(remove_tree(disk(), place.root, place.name));
  }
}

Result<Trashed> OmpTrash::take(SessionStore& store, const LogPlace& place, const std::string& title) {
  const Trashed trashed = describe(store, place, title);
  ASSIGN_OR_RETURN(const auto there, make_folder(trashed));
  auto done = write_note(there, trashed);
  done = done ? store.remove(place, there.files) : done;
  if (!done && done.error().code == Errc::unsupported) {
    done = copy_away(store, place, there.files);
  }
  if (!done) {
    give_back(store, place, there);
    return done.error();
  }
  return trashed;
}

/// The folder that the session was in; created if it is gone.
Result<Dir> OmpTrash::make_old_folder(const Trashed& trashed) {
  ASSIGN_OR_RETURN(auto sessions, Dir::open_root(trashed.sessions));
  if (trashed.place.folder == kSessionsItself) {
    return sessions;
  }
  RETURN_IF_ERROR(disk().make_folder(sessions, trashed.place.folder, 0777));
  RETURN_IF_ERROR(disk().sync_folder(sessions));
  return sessions.open_in(trashed.place.folder);
}

Result<void> OmpTrash::restore(const Trashed& trashed) {
  ASSIGN_OR_RETURN(const auto there, open(trashed));
  ASSIGN_OR_RETURN(const auto folder, make_old_folder(trashed));
  RETURN_IF_ERROR(lock_for_restore(there));
  auto moved = move_omp_log(disk(), there.files, trashed.place.file, folder, trashed.place.file);
  if (!moved && moved.error().code == Errc::unsupported && !is_copied(there.files, trashed.place.file, folder)) {
    moved = copy_belongings(disk(), there.files, trashed.place.file, folder);
  } else if (!moved && moved.error().code == Errc::unsupported) {
    moved = {};
  }
  if (!moved && moved.error().code == Errc::already_exists) {
    return name_is_taken(trashed, folder);
  }
  moved = moved ? disk().sync_folder(folder) : moved;
  if (moved) {
    drop(there);
  }
  return moved;
}

}  // namespace arborfs
