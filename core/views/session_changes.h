// What the edit tools of a session changed in files: edits, writes and patches, in the order of the log and on all
// branches, because they changed the same files whatever branch they stand on. A call that failed changed nothing.
// Nothing is asked of the files themselves. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/session/session.h"
#include "core/views/file_changes.h"

namespace arborfs {

struct SessionChanges {
  std::vector<DiffPart> changes;
  std::vector<Ordinal> commands;  // entries with commands, which may have changed files too
  std::uint64_t left_out = 0;     // entries and changes that are too long
};

/// Reads the whole log; needs Depth::index. Errors: stale, io; interrupted once cancelled.
Result<SessionChanges> session_changes(const Session& session);

/// A diff that `patch -p1 -d /` and, in `/`, `git apply` read: the names are absolute, with `a` and `b` before them.
/// Lines that begin with # say what is not known; both programs pass over them. The bytes are those of the files.
std::string changes_diff(const SessionChanges& changes);

}  // namespace arborfs
