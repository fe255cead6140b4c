#include "core/sqlite/transaction.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/base/result_macros.h"
#include "core/sqlite/private_copy.h"

namespace arborfs::sqlite {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause(2);

Result<Connection> open_and_lock(const std::string& path, Transaction::Sync sync, Clock::duration patience) {
  ASSIGN_OR_RETURN(auto connection, Connection::open(file_uri(path) + "?mode=rw", SQLITE_OPEN_READWRITE, nullptr));
  const auto patience_ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  sqlite3_busy_timeout(connection.handle(), static_cast<int>(std::max<std::int64_t>(patience_ms, 1)));
  // The last connection to close leaves no -wal behind, as its program would.
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  RETURN_IF_ERROR(connection.run("PRAGMA foreign_keys=ON"));
  RETURN_IF_ERROR(
      connection.run(sync == Transaction::Sync::full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF"));
  RETURN_IF_ERROR(connection.run("BEGIN IMMEDIATE"));
  return connection;
}

}  // namespace

/// While a thread of this process looks at the database, SQLite lets all connections of the process only read its
/// -shm; that is over soon.
Result<Transaction> Transaction::begin(const std::string& path, Sync sync) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (;;) {
    auto connection = open_and_lock(path, sync, deadline - Clock::now());
    if (connection) {
      return Transaction(std::move(*connection));
    }
    if (connection.error().code != Errc::busy || Clock::now() + kPause >= deadline) {
      return connection.error();
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<void> Transaction::commit() const {
  return connection_.run("COMMIT");
}

}  // namespace arborfs::sqlite
