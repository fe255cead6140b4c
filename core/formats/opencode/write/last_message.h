// Whether OpenCode writes to a session of its database (opencode/FORMAT.md G2). Used within one transaction.
#pragma once

#include <string>
#include <vector>

#include "core/formats/opencode/write/new_message.h"
#include "core/sqlite/connection.h"

namespace arborfs::opencode {

Result<LastMessage> last_message(const sqlite::Connection& database, const std::string& session);
/// Errors: busy if OpenCode answers in one of the sessions.
Result<void> check_quiet(const sqlite::Connection& connection, const std::vector<std::string>& sessions);

}  // namespace arborfs::opencode
