// The folder to mount on: resolves any spelling of it, removes a dead mount from it, checks that it is separate from
// the store (CONTRACT.md 7.9, 7.10).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace arborfs {

/// A mount as listed in /proc/self/mountinfo.
struct MountEntry {
  std::string id;  // the mount's id, unique while it exists
  std::string path;
  std::string type;
  std::string source;
  std::string minor;  // the minor number of its device, which names its FUSE connection
};
/// The text of /proc/self/mountinfo; empty if it cannot be read completely.
std::optional<std::string> mount_table();
/// The topmost mount exactly at `path` (absolute, without symbolic links); empty if there is none.
std::optional<MountEntry> mount_at(const std::string& path);
/// The same, from the text of mount_table().
std::optional<MountEntry> mount_in(const std::string& table, const std::string& path);
bool is_arborfs(const MountEntry& entry);

/// Makes a path absolute and free of symbolic links; works for a folder whose daemon is dead. Errors: not_found,
/// invalid_argument (not a folder), busy (an arborfs that does not answer is mounted there).
Result<std::string> resolve_mountpoint(const std::string& path);

/// True if the folder has any entries; false if it cannot be read.
bool has_files(const std::string& folder);

/// Removes the dead mounts that a killed daemon left. Errors: already_exists if a live arborfs is mounted there, io.
Result<void> heal_mountpoint(const std::string& path);

/// Unmounts the arborfs at `path` that has this mount id, if its connection is dead. Ignores errors.
void detach_if_dead(const std::string& path, const std::string& id);

/// Errors: invalid_argument if the mountpoint is one of the store's folders, inside one or contains one. Compares the
/// folders themselves, so no spelling or bind mount can hide it.
Result<void> check_apart(const std::string& mountpoint, const std::vector<std::string>& store_folders);

/// Unmounts the arborfs at a path; lazily if it is busy. Errors: io.
Result<void> detach(const std::string& path);

/// Unmounts the arborfs at `mountpoint`, at once even if busy. If it does not answer, ends its connection first.
/// If nothing is mounted there, this succeeds and sets `said` to a message. Errors: invalid_argument if
/// another file system is mounted there, io.
Result<void> unmount(const std::string& mountpoint, std::string* said = nullptr);

}  // namespace arborfs
