// Replaces or removes a file that other programs write without a lock, and loses nothing that they write in the same
// moment. Any thread.
#pragma once

#include <functional>
#include <string>

#include "core/os/disk.h"

namespace arborfs {

/// True if the file still has the content that it had when the change was decided.
using IsAsRead = std::function<bool(const File& old)>;

/// Puts the finished file `fresh` in place of `name`, in the same folder. False if another program has written to
/// `name` since it was read: its file stays. The two names are exchanged first. The old file is examined when no
/// program can open it by its name any more and none has it open for writing. If it has changed, the names are
/// exchanged again. Where the file system cannot exchange names, the file is examined before it is replaced, and a
/// write in between is lost.
///
/// The name `fresh` is gone afterwards. It is kept only if the disk fails while it leads to the other program's file,
/// and the error says so. The caller syncs the folder. Errors: those of the disk.
Result<bool> replace_as_read(Disk& disk, const Dir& folder, const std::string& fresh, const std::string& name,
                             const IsAsRead& is_as_read);

/// Removes `name`. False if another program has written to it since it was read, or has it open for writing: it stays.
/// The file gets the unused name `aside`, in the same folder, before it is examined as above, and its own name again if
/// it stays. It keeps the name `aside` only if the process is killed, or, as the error says, if the disk fails or its
/// own name has been taken meanwhile. The caller syncs the folder. Errors: those of the disk; already_exists.
Result<bool> remove_as_read(Disk& disk, const Dir& folder, const std::string& name, const std::string& aside,
                            const IsAsRead& is_as_read);

}  // namespace arborfs
