#include <dirent.h>

#include <optional>

#include "core/base/result_macros.h"
#include "core/formats/opencode/write/moved_files.h"

namespace arborfs::opencode {
namespace {}  // namespace

Result<std::vector<std::string>> names_in(const StorageFolder& storage, const std::string& kind,
                                          const std::string& folder, unsigned char type) {
  const auto dir = storage.folder(kind, folder);
  std::vector<std::string> names;
  if (!dir && dir.error().code == Errc::not_found) {
    return names;
  }
  ASSIGN_OR_RETURN(auto entries, dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error()));
  for (DirEntry& entry : entries) {
    if (entry.type == type) {
      names.push_back(std::move(entry.name));
    }
  }
  return names;
}

Result<void> FileMover::move(const MovedNames& group) {
  const auto source = from_.folder(group.kind, group.folder);
  if (!source) {
    return source.error().code == Errc::not_found ? Result<void>() : Result<void>(source.error());
  }
  std::optional<Dir> target;
  for (const std::string& name : group.names) {
    if (const auto st = source->stat(name); !st && st.error().code == Errc::not_found) {
      continue;
    }
    if (!target) {
      ASSIGN_OR_RETURN(target, make_target(group.kind, group.folder));
    }
    const auto done = disk_.rename(*source, name, *target, name, Disk::Existing::keep);
    if (!done && done.error().code == Errc::already_exists) {
      RETURN_IF_ERROR(merge(group, name));
    } else if (!done && done.error().code != Errc::not_found) {
      return done;
    }
  }
  return {};
}

Result<void> FileMover::sync() {
  for (const StorageFolder* const side : {&to_, &from_}) {
    std::vector<Dir> folders;
    for (const auto& [kind, folder] : touched_) {
      ASSIGN_OR_RETURN(auto dir, side->folder(kind, folder));
      folders.push_back(std::move(dir));
    }
    Disk::SyncSet all;
    for (const Dir& folder : folders) {
      all.folders.push_back(&folder);
    }
    if (side == &to_ && has_made_kind_) {
      all.folders.push_back(&to_.root());
    }
    RETURN_IF_ERROR(disk_.sync_all(all));
  }
  touched_.clear();
  has_made_kind_ = false;
  return {};
}

Result<Dir> FileMover::make_target(const std::string& kind, const std::string& folder) {
  touched_.emplace(kind, folder);
  auto there = to_.folder(kind, folder);
  if (there || there.error().code != Errc::not_found) {
    return there;
  }
  has_made_kind_ = true;
  RETURN_IF_ERROR(disk_.make_folder(to_.root(), kind, kFolderMode));
  if (!folder.empty()) {
    touched_.emplace(kind, "");
    ASSIGN_OR_RETURN(const auto parent, to_.folder(kind));
    RETURN_IF_ERROR(disk_.make_folder(parent, folder, kFolderMode));
  }
  return to_.folder(kind, folder);
}

Result<void> FileMover::merge(const MovedNames& group, const std::string& name) {
  const bool is_folder = group.kind == "part" || group.kind == "message";
  if (!is_folder || !group.folder.empty()) {
    return {};
  }
  ASSIGN_OR_RETURN(auto files, names_in(from_, group.kind, name, DT_REG));
  return move({group.kind, name, std::move(files)});
}

}  // namespace arborfs::opencode
