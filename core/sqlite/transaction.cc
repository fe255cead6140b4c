#include "core/sqlite/transaction.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "core/base/result_macros.h"
#include "core/sqlite/private_copy.h"
#include "core/sqlite/shared_memory_gate.h"

namespace arborfs::sqlite {

std::shared_timed_mutex& shared_memory_gate() {
  static std::shared_timed_mutex gate;
  return gate;
}

namespace {

/// SQLite opens a database that it may not write for reading, and then fails with an error that says nothing of that.
Result<void> check_writable(const std::string& path) {
  const bool is_refused = ::access(path.c_str(), W_OK) != 0 && errno != ENOENT;
  return is_refused ? error_from_errno(errno, "cannot write to the database") : Result<void>();
}

}  // namespace

/// Opens the -shm too.
Result<Connection> Transaction::connect(const std::string& path, Sync sync, std::chrono::milliseconds patience) {
  RETURN_IF_ERROR(check_writable(path));
  const std::unique_lock gate(shared_memory_gate(), patience);
  if (!gate) {
    return Error{Errc::busy, "cannot open the database: this process reads it all the time"};
  }
  ASSIGN_OR_RETURN(auto connection, Connection::open(file_uri(path) + "?mode=rw", SQLITE_OPEN_READWRITE, nullptr));
  connection.wait_for_locks(patience);
  // The last connection to close leaves no -wal behind, as its program would.
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  RETURN_IF_ERROR(connection.run("PRAGMA foreign_keys=ON"));
  // EXTRA is FULL, and also syncs the removal of a rollback journal: with a journal that is back after a power cut, the
  // next program takes the change back. Not OFF: a checkpoint that does not sync may damage the whole database in a
  // power cut, not only the last change.
  RETURN_IF_ERROR(connection.run(sync == Sync::full ? "PRAGMA synchronous=EXTRA" : "PRAGMA synchronous=NORMAL"));
  // By default, Debian's SQLite also writes pages only to overwrite deleted rows: twice as many in a removal.
  RETURN_IF_ERROR(connection.run("PRAGMA secure_delete=FAST"));
  RETURN_IF_ERROR(connection.run("SELECT count(*) FROM sqlite_master"));
  return connection;
}

Result<Transaction> Transaction::begin(const std::string& path, Sync sync, std::chrono::milliseconds patience) {
  ASSIGN_OR_RETURN(auto connection, connect(path, sync, patience));
  return begin(std::move(connection));
}

Result<Transaction> Transaction::begin(Connection connection) {
  RETURN_IF_ERROR(connection.run("BEGIN IMMEDIATE"));
  return Transaction(std::move(connection));
}

Result<void> Transaction::commit() const {
  return connection_.run("COMMIT");
}

/// The page that makes the commit valid is written last. Errors of syncs and of the shared memory come after that.
bool Transaction::is_surely_undone() const {
  const int code = sqlite3_extended_errcode(connection_.handle());
  return (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_FULL || code == SQLITE_IOERR_WRITE;
}

}  // namespace arborfs::sqlite
