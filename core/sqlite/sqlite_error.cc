#include "core/sqlite/sqlite_error.h"

#include <sqlite3.h>

#include <cerrno>

namespace arborfs::sqlite {

namespace {

/// SQLite reports a full disk as such only for the database, not for its -shm and -wal.
bool is_disk_full(int code, sqlite3* connection) {
  const int family = code & 0xFF;
  const int error = connection != nullptr && (family == SQLITE_IOERR || family == SQLITE_CANTOPEN)
                        ? sqlite3_system_errno(connection)
                        : 0;
  return family == SQLITE_FULL || error == ENOSPC || error == EDQUOT;
}

}  // namespace

Error error_from_sqlite(int code, const std::string& doing, sqlite3* connection) {
  if (is_disk_full(code, connection)) {
    return {Errc::no_space, doing + ": no space left"};
  }
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:  // a crashed program left work that only a writer can undo
      return {Errc::busy, doing + ": its program holds it locked"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Errc::corrupt, doing + ": it is damaged, or not an SQLite database"};
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_SCHEMA:
      return {Errc::unsupported, doing + ": its tables are not those that arborfs knows"};
    case SQLITE_PERM:
      return {Errc::permission, doing + ": permission denied"};
    case SQLITE_TOOBIG:
      return {Errc::too_large, doing + ": a value is too long"};
    case SQLITE_INTERRUPT:
      return {Errc::interrupted, doing + ": interrupted"};
    default:
      return {Errc::io, doing + ": " + sqlite3_errstr(code)};
  }
}

}  // namespace arborfs::sqlite
