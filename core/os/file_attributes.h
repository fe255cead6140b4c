// Gives a file that replaces or copies another one the owner, the permissions and the attributes of the original, so
// that the same users can access it. Any thread.
#pragma once

#include <sys/types.h>

#include <optional>

#include "core/os/disk.h"

namespace arborfs {

/// Gives a new file or folder, which only its maker can access so far, the owner, the group, the access list, the
/// attributes `user.*` and the permissions of `original`, an open file or folder. `mode`: other permissions. Where the
/// group or the access list cannot be kept, the group may do only what everybody may. Errors: not_permitted if the file
/// belongs to another user and cannot be given to it; those of the disk.
Result<void> keep_attributes(Disk& disk, int original, int fd, std::optional<mode_t> mode = std::nullopt);

/// Gives a new file or folder to the owner and the group of the folder that it is in, if this process is root's and the
/// folder is not. Errors: those of the disk.
Result<void> keep_owner_of_folder(Disk& disk, const Dir& folder, int fd);

/// Fails in a folder from which no name can be removed again (chattr +a): a lock or a temporary file would stay.
/// Errors: not_permitted.
Result<void> check_not_append_only(const Dir& folder);

}  // namespace arborfs
