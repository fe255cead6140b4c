// Restores the working files of a checkpoint (goat/FORMAT.md D5). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/goat/checkpoints.h"
#include "core/os/disk.h"
#include "core/os/work_folder.h"

namespace arborfs::goat {

// Saves working files of a session in a checkpoint (goat/FORMAT.md D). Any thread.

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

/// Whether users may give this name to a checkpoint. Errors: invalid_argument.
Result<void> check_checkpoint_name(const std::string& name);
/// A name that consists of this word and the time.
Result<std::string> checkpoint_name_now(const std::string& word);

/// Saves the files, each given by its components below the working directory, all or none. A file that does not exist
/// is recorded as absent. Errors: already_exists if there is such a checkpoint; invalid_argument if a file is not a
/// regular one; stale if one changes meanwhile; too_large for more files than a manifest may list; those of the disk.
Result<std::vector<KeptFile>> take_checkpoint(const CheckpointPlace& place, const std::string& id,
                                              const std::vector<std::vector<std::string>>& files);

/// The changes that a rewind made, or would make.
struct Rewound {
  std::string kept;  // the checkpoint of the previous files; "" if nothing was changed
  std::vector<PlannedFile> files;
};

/// First saves the files that it changes in a new checkpoint. A file that has changed since then, or cannot be written,
/// stays unchanged and is `refused`; the others are restored anyway. Errors: those of take_checkpoint; no file is
/// changed then.
Result<Rewound> rewind_to(const CheckpointPlace& place, const Checkpoint& checkpoint);

/// As one JSON line.
std::string line_of(const std::string& checkpoint, bool dry_run, const Rewound& rewound);

}  // namespace arborfs::goat
