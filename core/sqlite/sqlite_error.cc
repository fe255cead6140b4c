#include "core/sqlite/sqlite_error.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace arborfs::sqlite {

namespace {

/// The system's error that made SQLite fail with this code; 0 if none did.
int system_errno(int code, sqlite3* connection) {
  const int family = code & 0xFF;
  const bool is_of_system = connection != nullptr && (family == SQLITE_IOERR || family == SQLITE_CANTOPEN);
  return is_of_system ? sqlite3_system_errno(connection) : 0;
}

/// The error of the system that says more than SQLite's code; 0 if there is none. SQLite reports a full disk as such
/// only for the database, not for its -shm and -wal.
int system_error(int code, sqlite3* connection) {
  if ((code & 0xFF) == SQLITE_FULL) {
    return ENOSPC;
  }
  const int error = system_errno(code, connection);
  constexpr std::array kTelling = {ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EFBIG, EMFILE, ENFILE};
  return std::find(kTelling.begin(), kTelling.end(), error) != kTelling.end() ? error : 0;
}

/// What SQLite, the system and the statement say of a failure, for whoever looks for its cause.
std::string details(int code, sqlite3* connection, std::string_view sql) {
  constexpr std::size_t kMostOfSql = 200;
  const int extended = connection == nullptr ? code : sqlite3_extended_errcode(connection);
  std::string text = sqlite3_errstr(code);
  text += " (SQLite error " + std::to_string((extended & 0xFF) == (code & 0xFF) ? extended : code);
  if (const int error = system_errno(code, connection); error != 0) {
    char buffer[64];
    text += std::string(", ") + ::strerror_r(error, buffer, sizeof buffer);
  }
  if (!sql.empty()) {
    text += ", in: " + std::string(sql.substr(0, kMostOfSql));
  }
  return text + ")";
}

}  // namespace

Error error_from_sqlite(int code, const std::string& doing, sqlite3* connection, std::string_view sql) {
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
      return {Errc::io, doing + ": " + details(code, connection, sql)};
  }
}

}  // namespace arborfs::sqlite
