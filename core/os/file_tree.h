// Trees of files, and the attributes that a copy keeps.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/os/disk.h"

namespace arborfs {

// Gives a file that replaces or copies another one the owner, the permissions and the attributes of the original, so
// that the same users can access it. Any thread.

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

// Copies and removes a file, or a folder with everything below it, through a Disk. Symbolic links are copied as links
// and never followed (FAILURES.md S3). Any thread.

/// Copies `name` in `from` to `new_name` in `to`, with attributes and times. The copy is synced to
/// the disk when this returns, except for its name in `to`. On an error a partial copy may remain. Errors:
/// already_exists, io, no_space; unsupported for FIFOs, sockets and devices, and for folders nested too deeply.
Result<void> copy_tree(Disk& disk, const Dir& from, const std::string& name, const Dir& to,
                       const std::string& new_name);

/// Copies one file, with attributes and times, to a file that is open and empty, and syncs that.
Result<void> copy_to_file(Disk& disk, const File& source, int fd, bool sync = true);
/// The same for a folder. Errors: as copy_tree.
Result<void> copy_to_folder(Disk& disk, const Dir& source, const Dir& copy);

/// The bytes of a file or a link, or of all below a folder, which has none itself; 0 for what does not exist. Errors:
/// those of reading; unsupported for folders nested too deeply.
Result<std::uint64_t> size_of_tree(const Dir& folder, const std::string& name);

/// Not an error if `name` does not exist.
Result<void> remove_tree(Disk& disk, const Dir& folder, const std::string& name);

/// Removes what was copied to `copy_name` in `copy`, file by file. A file that differs from its copy or lacks one, or
/// that another program has open for writing, stays, and so do the folders above it. A file that a program still writes
/// in the moment of its removal is written again. True if nothing stays. Errors: those of the disk.
Result<bool> remove_copied(Disk& disk, const Dir& folder, const std::string& name, const Dir& copy,
                           const std::string& copy_name);

/// True if all files and links that `one` has under this name are the same in `other`, which may have more.
bool is_part_of(const Dir& one, const Dir& other, const std::string& name);
bool is_part_of(const Dir& one, const std::string& name, const Dir& other, const std::string& other_name);
/// The same, but a file of `other` may also have gained bytes at its end.
bool is_continued(const Dir& one, const Dir& other, const std::string& name);
/// True if each file, folder and link that both have below this name is the same, or a file of `one` that has gained
/// bytes at its end in `other`.
bool agree(const Dir& one, const Dir& other, const std::string& name);
/// True if `other` has all names that `one` has below this one, whatever the contents are.
bool has_names_of(const Dir& one, const Dir& other, const std::string& name);

}  // namespace arborfs
