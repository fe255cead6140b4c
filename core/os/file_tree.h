// A file, or a folder with all below it, copied and removed through a Disk. Links are copied as links and never
// followed (FAILURES.md S3). Any thread.
#pragma once

#include <string>

#include "core/os/disk.h"

namespace arborfs {

/// Copies what `name` of `from` is to `new_name` of `to`, with permissions and times. What was copied is on the disk
/// when this returns, but for its name in `to`. On an error a part may be there. Errors: already_exists, io, no_space;
/// unsupported for FIFOs, sockets and devices, and for folders nested too deeply.
Result<void> copy_tree(Disk& disk, const Dir& from, const std::string& name, const Dir& to,
                       const std::string& new_name);

/// That nothing is there is no error.
Result<void> remove_tree(Disk& disk, const Dir& folder, const std::string& name);

}  // namespace arborfs
