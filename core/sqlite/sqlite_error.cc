#include "core/sqlite/sqlite_error.h"

#include <sqlite3.h>

namespace arborfs::sqlite {

Error error_from_sqlite(int code, const std::string& doing) {
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
    case SQLITE_FULL:
      return {Errc::no_space, doing + ": no space left"};
    default:
      return {Errc::io, doing + ": " + sqlite3_errstr(code)};
  }
}

}  // namespace arborfs::sqlite
