// SQLite's result codes as errors of this program. Internal to core/sqlite.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

struct sqlite3;

namespace arborfs::sqlite {

/// `doing` is the operation that failed, such as "cannot open the database"; right after it failed on `connection`, if
/// that is not null. `sql` is the statement, without values; an error that says too little (io) names it, with SQLite's
/// extended code (https://sqlite.org/rescode.html) and the system's error.
Error error_from_sqlite(int code, const std::string& doing, sqlite3* connection = nullptr, std::string_view sql = {});

}  // namespace arborfs::sqlite
