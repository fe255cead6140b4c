// Saves working files of a session in a checkpoint (goat/FORMAT.md D). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/os/disk.h"
#include "core/os/work_folder.h"

namespace arborfs::goat {

/// The folder of a new checkpoint, and the files that it saves.
struct CheckpointPlace {
  Disk& disk;
  const Dir& session;      // the session's folder
  const WorkFolder& work;  // the session's working directory
  const std::string& cwd;  // its path as the session has it
  bool sync = true;
};

/// A file as it was kept.
struct KeptFile {
  std::vector<std::string> parts;  // below the working directory
  std::optional<FileStat> seen;    // nothing if there was no such file
  std::string hash;                // of the content
};

/// The permissions in a file's mode.
inline constexpr std::uint32_t kPermissions = 0777;

/// Copies a file. Returns the SHA-256 of the copied bytes, in hex digits. Errors: those of the disk.
Result<std::string> copy_hashed(Disk& disk, const File& file, int to);

/// Whether users may give this name to a checkpoint. Errors: invalid_argument.
Result<void> check_checkpoint_name(const std::string& name);
/// A name that consists of this word and the time.
Result<std::string> checkpoint_name_now(const std::string& word);

/// Saves the files, each given by its components below the working directory, all or none. A file that does not exist
/// is recorded as absent. Errors: already_exists if there is such a checkpoint; invalid_argument if a file is not a
/// regular one; stale if one changes meanwhile; too_large for more files than a manifest may list; those of the disk.
Result<std::vector<KeptFile>> take_checkpoint(const CheckpointPlace& place, const std::string& id,
                                              const std::vector<std::vector<std::string>>& files);

}  // namespace arborfs::goat
