// Rows of a transcript as a new transcript: each row as it is, but for the members that say where it belongs
// (claude/FORMAT.md G4). Pure but for reading the log and for new ids; any thread.
#pragma once

#include <string>

#include "core/writer/conversation.h"

namespace arborfs::claude {

/// The rows of a path that are sent, and the title of `conversation`. Blocks of calls without a result and of results
/// without a call become text, which `conversation` has counted. Errors: too_large, stale, io.
Result<std::string> copied_rows(const SpokenPath& spoken, const Conversation& conversation, const std::string& session);

}  // namespace arborfs::claude
