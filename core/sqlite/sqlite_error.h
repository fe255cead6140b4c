// SQLite's result codes as errors of this program. Internal to core/sqlite.
#pragma once

#include <string>

#include "core/base/error.h"

namespace arborfs::sqlite {

/// `doing` is the operation that failed, such as "cannot open the database".
Error error_from_sqlite(int code, const std::string& doing);

}  // namespace arborfs::sqlite
