// The folder to mount on: found by any spelling, freed of a dead mount, kept apart from the store
// (CONTRACT.md 7.9, 7.10).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace arborfs {

/// What is mounted on a folder, as /proc/self/mountinfo has it.
struct MountEntry {
  std::string id;  // of the mount, as long as it lives
  std::string path;
  std::string type;
  std::string source;
};
/// /proc/self/mountinfo; nothing when it cannot be read to its end.
std::optional<std::string> mount_table();
/// The topmost mount right on `path` (absolute, without symbolic links); nothing when there is none.
std::optional<MountEntry> mount_at(const std::string& path);
/// The same of what such a table says.
std::optional<MountEntry> mount_in(const std::string& table, const std::string& path);
bool is_arborfs(const MountEntry& entry);

/// Absolute and without symbolic links; works for a folder whose daemon is dead. Errors: not_found, invalid_argument
/// (no folder).
Result<std::string> resolve_mountpoint(const std::string& path);

/// Anything is in that folder, as far as it can be told.
bool has_files(const std::string& folder);

/// Takes away what a killed daemon left behind. Errors: already_exists when a live arborfs is mounted there, io.
Result<void> heal_mountpoint(const std::string& path);

/// Takes away the arborfs at `path` whose mount has this id, if its connection is dead. Never fails.
void detach_if_dead(const std::string& path, const std::string& id);

/// Errors: invalid_argument when the mountpoint lies inside one of the store's folders, around it, or is it. Compares
/// the folders themselves, so that no spelling and no bind mount hides it.
Result<void> check_apart(const std::string& mountpoint, const std::vector<std::string>& store_folders);

/// Unmounts a path that carries an arborfs; lazily when it is busy. Errors: io.
Result<void> detach(const std::string& path);

/// Unmounts the arborfs at `mountpoint`, at once even if busy. It is no error when nothing is mounted there; `said`
/// then has a word about it. Errors: invalid_argument when another file system is mounted there, io.
Result<void> unmount(const std::string& mountpoint, std::string* said = nullptr);

}  // namespace arborfs
