// The reply in which the conversation at an entry ends: whether rows may follow it (claude/FORMAT.md C3, I2). Any
// thread.
#pragma once

#include <string>

#include "core/formats/claude/new_rows.h"
#include "core/session/session.h"

namespace arborfs::claude {

/// The calls of tools without a result in the last reply. `at`: the entry, "" for the leaf. Errors: not_found;
/// invalid_argument for an entry before the end of a reply, whose parts the program sends together; those of reading.
Result<OpenCalls> calls_open_at(const SessionPtr& session, const std::string& at);

}  // namespace arborfs::claude
