// A nameless file for bytes that are too many for the memory and that can be computed again: nothing of it stays when
// the process ends, however it ends. Any thread.
#pragma once

#include "core/base/error.h"
#include "core/base/unique_fd.h"

namespace arborfs {

/// Opens an empty one for reading and writing in $TMPDIR, else in /tmp. Errors: those of creating a file there.
Result<UniqueFd> make_scratch_file();

}  // namespace arborfs
