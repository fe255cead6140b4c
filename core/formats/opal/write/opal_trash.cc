#include "core/formats/opal/write/opal_trash.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/os/file_tree.h"
#include "core/os/temp_file.h"

namespace arborfs {
namespace {

constexpr mode_t kFolderMode = 0777;
constexpr mode_t kPrivateFile = 0600;
constexpr std::size_t kLongestPart = 200;

std::string folder_of(const LogPlace& place) {
  return std::string(place.stem());
}

/// The name of a copied folder until it is complete.
std::string draft_of(const std::string& name) {
  return temporary_name("moved-" + name.substr(0, kLongestPart));
}

bool is_in(const Dir& folder, const std::string& name) {
  return folder.stat(name).has_value();
}

Error name_is_taken(const Trashed& trashed, const std::string& name) {
  return {Errc::already_exists, folder_path(trashed.sessions, trashed.place.folder) + "/" + name +
                                    " exists again; move it away and run: arborfs restore " + trashed.name};
}

}  // namespace

/// The copy gets its name when it is complete. `drafts` is a folder on the same file system. Until then a file is
/// locked, because writers that start remove files that are not; they leave folders alone.
Result<void> OpalTrash::copy_in(const Dir& from, const std::string& name, const Dir& to, const Dir& drafts) {
  if (const auto file = File::open_in(from, name)) {
    ASSIGN_OR_RETURN(const auto draft, TempFile::create(disk(), drafts, kPrivateFile));
    RETURN_IF_ERROR(copy_to_file(disk(), *file, draft->fd()));
    RETURN_IF_ERROR(draft->publish(to, name, Disk::Existing::keep));
    return disk().sync_folder(to);
  }
  const std::string draft = draft_of(name);
  RETURN_IF_ERROR(remove_tree(disk(), drafts, draft));
  auto done = copy_tree(disk(), from, name, drafts, draft);
  done = done ? disk().rename(drafts, draft, to, name, Disk::Existing::keep) : done;
  if (!done) {
    static_cast<void>(remove_tree(disk(), drafts, draft));
    return done;
  }
  return disk().sync_folder(to);
}

/// The original is removed when the copy is on the disk. Of a folder, what was written meanwhile stays.
Result<void> OpalTrash::copy(const Dir& from, const std::string& name, const Dir& to) {
  RETURN_IF_ERROR(copy_in(from, name, to, to));
  const auto removed = remove_copied(disk(), from, name, to, name);
  if ((removed && *removed) || from.open_in(name)) {
    return {};
  }
  if (is_in(from, name)) {
    static_cast<void>(remove_tree(disk(), to, name));
  }
  return removed ? Result<void>(Errc::stale, "another program wrote to the session meanwhile; try again")
                 : Result<void>(removed.error());
}

/// Adds what `from` has under this name and `to` lacks. The files that both have are the same; they stay.
Result<void> OpalTrash::add_missing(const Dir& from, const std::string& name, const Dir& to, const Dir& drafts) {
  if (!is_in(to, name)) {
    return copy_in(from, name, to, drafts);
  }
  const auto theirs = from.open_in(name);
  const auto ours = to.open_in(name);
  if (!theirs || !ours) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto entries, theirs->list());
  for (const DirEntry& entry : entries) {
    RETURN_IF_ERROR(add_missing(*theirs, entry.name, *ours, drafts));
  }
  return {};
}

Result<void> OpalTrash::move(const Dir& from, const std::string& name, const Dir& to) {
  RETURN_IF_ERROR(remove_tree(disk(), to, draft_of(name)));  // of an earlier move that was killed
  auto moved = disk().rename(from, name, to, name, Disk::Existing::keep);
  if (!moved && moved.error().code == Errc::unsupported) {
    moved = copy(from, name, to);
  }
  RETURN_IF_ERROR(moved);
  RETURN_IF_ERROR(disk().sync_folder(to));
  return disk().sync_folder(from);
}

/// Undoes the steps of a move that take() has made.
void OpalTrash::give_back(const TrashFolder& there, const Dir& store, const LogPlace& place) {
  bool is_empty = true;
  for (const std::string& name : {folder_of(place), place.file}) {
    if (is_in(there.files, name) && !is_in(store, name)) {
      static_cast<void>(move(there.files, name, store));
      is_empty = is_empty && is_in(store, name);
    }
  }
  if (is_empty) {
    drop(there);
  }
}

Result<Trashed> OpalTrash::take(const SessionStore& store, const LogPlace& place, const std::string& title) {
  const Trashed trashed = describe(store, place, title);
  ASSIGN_OR_RETURN(const auto folder, store.folder(place));
  ASSIGN_OR_RETURN(const auto there, make_folder(trashed));
  auto done = write_note(there, trashed);
  done = done ? move(folder, place.file, there.files) : done;
  if (done && is_in(folder, folder_of(place))) {
    done = move(folder, folder_of(place), there.files);
  }
  if (!done) {
    give_back(there, folder, place);
    return done.error();
  }
  return trashed;
}

Result<void> OpalTrash::restore(const Trashed& trashed) {
  const LogPlace& place = trashed.place;
  ASSIGN_OR_RETURN(const auto there, open(trashed));
  RETURN_IF_ERROR(lock_for_restore(there));
  ASSIGN_OR_RETURN(const auto data, Dir::open_root(trashed.sessions));
  RETURN_IF_ERROR(disk().make_folder(data, place.folder, kFolderMode));
  RETURN_IF_ERROR(disk().sync_folder(data));
  ASSIGN_OR_RETURN(const auto folder, data.open_in(place.folder));
  const std::string others = folder_of(place);
  // A removal or restore that ended early, or that a power cut partly undid, left the same files in both places.
  const bool has_others = is_in(there.files, others) && !is_part_of(there.files, folder, others);
  if (has_others && is_in(folder, others) && !is_part_of(folder, there.files, others)) {
    return name_is_taken(trashed, others);
  }
  const bool is_back = is_in(folder, place.file);
  if (is_back && is_in(there.files, place.file) && !is_part_of(there.files, folder, place.file)) {
    return name_is_taken(trashed, place.file);
  }
  if (has_others) {
    RETURN_IF_ERROR(is_in(folder, others) ? add_missing(there.files, others, folder, folder)
                                          : move(there.files, others, folder));
  }
  if (!is_back) {
    RETURN_IF_ERROR(move(there.files, place.file, folder));
  }
  drop(there);
  return {};
}

}  // namespace arborfs
