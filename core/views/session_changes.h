// What the edit tools of sessions changed in files: edits, writes and patches, in the order in which they were made. A
// call that failed changed nothing. Nothing is asked of the files themselves. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/session/session.h"
#include "core/views/file_changes.h"

namespace arborfs {

struct SessionChanges {
  std::vector<DiffPart> changes;
  std::vector<EntryOf> commands;  // entries with commands, which may have changed files too
  std::uint64_t left_out = 0;     // entries and changes that are too long
};

/// Reads the whole logs; needs Depth::index. Errors: stale, io; interrupted once cancelled.
Result<SessionChanges> session_changes(std::span<const CallsOf> sessions);

/// A diff that `patch -p1 -d /` and, in `/`, `git apply` read: the names are absolute, with `a` and `b` before them.
/// Lines that begin with # say what is not known; both programs pass over them. The bytes are those of the files.
std::string changes_diff(const SessionChanges& changes);

}  // namespace arborfs
