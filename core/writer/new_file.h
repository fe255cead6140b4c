// Files of new sessions: each gets its name only when it is completely written, and lets other users do nothing that
// they cannot do with the session that it is made from. What killed processes left of them. Any thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"
#include "core/session/session.h"

namespace arborfs {

/// Opens the folder that has these components below `root`; creates missing ones with `mode`.
Result<Dir> make_folders(Disk& disk, const std::string& root, const std::vector<std::string>& parts, mode_t mode,
                         bool sync);

struct NewFile {
  std::string name;
  mode_t mode = 0600;
};

/// Writes a file under a name that begins with a dot, and renames it. If it fails it leaves nothing, unless only the
/// sync of the folder failed. Errors: already_exists, no_space, over_quota, io.
Result<void> write_new_file(Disk& disk, const Dir& folder, const NewFile& file, std::string_view bytes, bool sync);

/// The permissions of the session's file, less those that the folders above it up to its agent's take from the group
/// and from others. Those of the owner are all there, so that an agent that makes a file with its own mode makes it
/// with `mode & permissions_of(source)`. A session whose file cannot be examined is private.
mode_t permissions_of(const Session& session);

/// Removes the files that killed processes left in a folder under names as write_new_file() uses them, or that
/// `is_ours` accepts: those that are older than a minute and that no process has open for writing.
void remove_leftovers(Disk& disk, const Dir& folder, const std::function<bool(std::string_view)>& is_ours = nullptr);

}  // namespace arborfs
