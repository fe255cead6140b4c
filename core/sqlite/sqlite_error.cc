#include "core/sqlite/sqlite_error.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace arborfs::sqlite {

namespace {

/// The error of the system that says more than SQLite's code; 0 if there is none. SQLite reports a full disk as such
/// only for the database, not for its -shm and -wal.
int system_error(int code, sqlite3* connection) {
  const int family = code & 0xFF;
  if (family == SQLITE_FULL) {
    return ENOSPC;
  }
  const bool is_of_system = connection != nullptr && (family == SQLITE_IOERR || family == SQLITE_CANTOPEN);
  const int error = is_of_system ? sqlite3_system_errno(connection) : 0;
  constexpr std::array kTelling = {ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EFBIG, EMFILE, ENFILE};
  return std::find(kTelling.begin(), kTelling.end(), error) != kTelling.end() ? error : 0;
}

}  // namespace

Error error_from_sqlite(int code, const std::string& doing, sqlite3* connection) {
  if (const int error = system_error(code, connection); error == ENOSPC) {
    return {Errc::no_space, doing + ": no space left; free some space on the disk and try again"};
  } else if (error != 0) {
    return error_from_errno(error, doing);
  }
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // others kept opening and closing it
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
