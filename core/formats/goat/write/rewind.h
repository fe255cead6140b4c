// Restores the working files of a checkpoint (goat/FORMAT.md D5). Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/rewind_plan.h"
#include "core/formats/goat/write/take_checkpoint.h"

namespace arborfs::goat {

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
