#include "core/sqlite/own_database.h"

#include <sqlite3.h>

#include <chrono>

#include "core/base/result_macros.h"
#include "core/sqlite/checked_vfs.h"
#include "core/sqlite/private_copy.h"

namespace arborfs::sqlite {

Result<Connection> open_own_database(const std::string& path) {
  ASSIGN_OR_RETURN(auto connection,
                   Connection::open(file_uri(path) + "?mode=rw", SQLITE_OPEN_READWRITE, checked_vfs()));
  connection.wait_for_locks(std::chrono::milliseconds(0));
  RETURN_IF_ERROR(reserve_checksums(connection));
  // Of a new database: rows of a few KiB are read with one call instead of one for each 4 KiB of each.
  RETURN_IF_ERROR(connection.run("PRAGMA page_size=16384"));
  RETURN_IF_ERROR(connection.run("PRAGMA journal_mode=WAL"));
  // Not OFF: a checkpoint that does not sync may damage the database in a power cut without anything showing it.
  RETURN_IF_ERROR(connection.run("PRAGMA synchronous=NORMAL"));
  // What is deleted is overwritten where that costs no further writes.
  RETURN_IF_ERROR(connection.run("PRAGMA secure_delete=FAST"));
  RETURN_IF_ERROR(connection.run("PRAGMA journal_size_limit=1048576"));
  return connection;
}

}  // namespace arborfs::sqlite
