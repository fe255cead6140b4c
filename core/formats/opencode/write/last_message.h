// Whether OpenCode writes to a session of its database (opencode/FORMAT.md G2). Used within one transaction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/sqlite/connection.h"

namespace arborfs::opencode {

/// The last message of a session.
struct LastMessage {
  std::string id;  // "" if there is none
  std::int64_t created_ms = 0;
  bool is_being_written = false;  // or an answer before it, behind which it waits
};

Result<LastMessage> last_message(const sqlite::Connection& database, const std::string& session);
/// Errors: busy if OpenCode answers in one of the sessions.
Result<void> check_quiet(const sqlite::Connection& connection, const std::vector<std::string>& sessions);

}  // namespace arborfs::opencode
