// A conversation of another agent as a session in OpenCode's database (opencode/FORMAT.md G5). Any thread.
#pragma once

#include <string>

#include "core/formats/opencode/write/adopted_session.h"
#include "core/sqlite/transaction.h"

namespace arborfs::opencode {

/// Inserts it in one transaction and returns its id. Errors: those of Transaction; unsupported if the tables are not
/// those of OpenCode.
Result<std::string> adopt_in_database(const std::string& database, sqlite::Transaction::Sync sync,
                                      const Conversation& conversation, AsText& counts);

}  // namespace arborfs::opencode
