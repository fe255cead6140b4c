// Takes operations back (core/session/operations.h). Everything that an operation changed must still be as it left it,
// which is looked at before the first step, and again with each; so a file loses only the bytes that arborfs wrote, and
// nothing that another program wrote since. What a killed undo has taken back counts as taken back, so the next one
// completes it. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/session/operations.h"
#include "core/write/writer.h"

namespace arborfs {

/// Brings a session back from the trash (core/formats/registry.h).
using RestoreTrashed = std::function<Result<void>(const Trashed&)>;

/// The operation of this id, or the last one that is not taken back for "". Errors: not_found; those of
/// Operations::all.
Result<OperationGroup> find_operation(const Operations& operations, std::string_view id);

/// Takes it back, and adds that to the operations. Returns what was done, as a sentence. The writer needs allow_delete
/// for sessions that were made or restored. Errors: unsupported if it cannot be taken back; stale if something has
/// changed since; not_found if a session or its store is gone; busy if an agent holds the session, unless `force`;
/// those of the disk. Of several sessions some may then be as before, which the message says.
Result<std::string> undo(Writer& writer, const OperationGroup& group, const RestoreTrashed& restore,
                         bool force = false);

}  // namespace arborfs
