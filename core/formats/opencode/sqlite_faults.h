// Finds faults of OpenCode's database. Changes nothing. Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/sqlite/database.h"
#include "core/store/finding.h"

namespace arborfs::opencode {

/// Rows of a session that are not JSON objects, and prompts without a part.
std::vector<Finding> faults_of_rows(const sqlite::Database& database, const std::string& session);

/// Faults of the database as a whole: its structure, its references, its tables.
std::vector<FileFinding> faults_of_database(const sqlite::Database& database);

}  // namespace arborfs::opencode
