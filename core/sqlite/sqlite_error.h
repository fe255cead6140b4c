// SQLite's result codes as errors of this program. Internal to core/sqlite.
#pragma once

#include <string>

#include "core/base/error.h"

struct sqlite3;

namespace arborfs::sqlite {

/// `doing` is the operation that failed, such as "cannot open the database"; right after it failed on `connection`, if
/// that is not null.
Error error_from_sqlite(int code, const std::string& doing, sqlite3* connection = nullptr);

}  // namespace arborfs::sqlite
