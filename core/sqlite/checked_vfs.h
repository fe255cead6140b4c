// SQLite's access to files for a database whose pages have checksums: the last bytes of each page hold the XXH64 of the
// rest and of the page's place. A page that is not what was written, such as a block of zeros after a power cut, makes
// the first read of a connection fail (SQLITE_CORRUPT) instead of being believed. They are written with the database;
// the -wal has its own checksums. Internal to core/sqlite.
#pragma once

#include "core/base/error.h"
#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

/// Its name for sqlite3_open_v2; registered by the first call. Any thread.
const char* checked_vfs();

/// Reserves the bytes in each page of a database that is still empty. Changes no other. Errors: io.
Result<void> reserve_checksums(const Connection& connection);

}  // namespace arborfs::sqlite
