// SQLite databases of other programs, as a reader sees them, and changes to them. Reading creates, changes and removes
// no file next to the database, and no lock is held longer than one call of Database::read. A database that its program
// has open is read through the program's own -shm; a closed database, also beside a -wal that holds no page, is read
// directly. What only a writer could read in place is read from a private copy: a -wal without a -shm, or with one that
// a killed program left half written or that this user may not read, and a database with a change that has to be rolled
// back.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/os/disk.h"
#include "core/os/file.h"
#include "core/sqlite/connection.h"

struct sqlite3_session;

namespace arborfs::sqlite {

/// Identifies one state of a database's files. If two values are equal, nothing was written in between, as far as times
/// show.
struct DatabaseState {
  FileStat database;
  FileStat wal;  // all zero if there is none
  bool operator==(const DatabaseState&) const = default;
  /// When it was written last, in nanoseconds since 1970.
  [[nodiscard]] std::int64_t mtime_ns() const { return std::max(database.mtime_ns, wal.mtime_ns); }
};

/// Thread-safe.
class Database {
 public:
  /// `path` is absolute and need not exist; it may be a link. Only `tables` can be read, so that those with secrets
  /// never are. Copies are made through `disk`, which outlives this.
  Database(std::string path, std::vector<std::string> tables, Disk& disk);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  using Reading = std::function<Result<void>(const Connection& connection)>;
  /// Opens the database and calls `reading` with it, which sees one state of it. Calls it again, for half a second at
  /// most, if the files changed in a way that makes the read data unreliable. Errors: those of `reading`; not_found,
  /// permission, corrupt (no database, or a damaged one), busy (locked, or changed all the time), too_large, io.
  Result<void> read(const Reading& reading) const;
  /// Costs two stat calls. Errors: not_found, permission, io.
  [[nodiscard]] Result<DatabaseState> state() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Files;
  [[nodiscard]] Files look() const;
  [[nodiscard]] Result<Connection> open(const std::string& parameters) const;
  /// Each of these returns false if the files changed in a way that makes unreliable what was read.
  enum class Locking : std::uint8_t { none, shared };
  Result<bool> read_once(const Reading& reading, Locking locking) const;
  Result<bool> read_shared(const Files& files, const Reading& reading) const;
  Result<bool> read_closed(const Files& files, const Reading& reading) const;
  Result<bool> read_locked(const Files& files, const Reading& reading) const;
  Result<bool> read_copy(const Files& files, const Reading& reading) const;
  void restrict_to_tables(sqlite3* connection) const;

  const std::string path_;
  const std::vector<std::string> tables_;
  Disk& disk_;
  mutable std::mutex copy_mutex_;
  mutable std::optional<Connection> copy_;       // guarded by copy_mutex_
  mutable std::unique_ptr<const Files> copied_;  // those that it is of
};

struct IntegrityFault {
  std::string_view kind;  // "corrupt_database", "dangling_row" or "unreadable"
  std::string text;       // in words
};

/// The faults that SQLite itself finds in a database. Reads all of it, and may take long. At most kMostIntegrityFaults;
/// references between rows are examined only if the structure is whole. Also empty if
/// there is no database.
std::vector<IntegrityFault> integrity_faults(const Database& database);
inline constexpr std::size_t kMostIntegrityFaults = 100;

/// One change to another program's database, made completely or not at all while that program may run: a connection of
/// its own, with foreign keys on and the write lock from the start. Never changes the schema or a setting that the
/// database keeps. The destructor rolls back uncommitted changes. Used by one thread at a time.
class Transaction {
 public:
  enum class Sync : std::uint8_t { full, left_to_kernel };
  static constexpr std::chrono::milliseconds kPatience{5000};
  /// A connection that may read before it begins to write; it waits up to `patience` for other programs. Errors: as
  /// begin; read_only, permission or not_permitted if the database may not be written.
  static Result<Connection> connect(const std::string& path, Sync sync, std::chrono::milliseconds patience = kPatience);
  /// Waits for other writers. Errors: busy after that; not_found, permission, corrupt, io.
  static Result<Transaction> begin(Connection connection);
  static Result<Transaction> begin(const std::string& path, Sync sync, std::chrono::milliseconds patience = kPatience);
  [[nodiscard]] const Connection& connection() const { return connection_; }
  /// Errors: busy, no_space, io; nothing is changed then.
  Result<void> commit() const;
  /// After a failed commit: true if even a power cut does not turn it into a success. False if all was written and only
  /// a sync failed.
  [[nodiscard]] bool is_surely_undone() const;

  /// Remembers from now on which rows change.
  void record();
  /// What changed since record(), as a changeset of SQLite (https://sqlite.org/sessionintro.html): rows that were
  /// inserted, and the former and the new values of others. "" if that cannot be known. Call it before commit().
  [[nodiscard]] std::string changeset() const;

 private:
  using Recording = std::unique_ptr<sqlite3_session, void (*)(sqlite3_session*)>;
  explicit Transaction(Connection connection) : connection_(std::move(connection)) {}
  Connection connection_;
  Recording recording_{nullptr, nullptr};
};

enum class RowsNow : std::uint8_t { as_changed, as_before, other };
/// Whether the rows of a changeset are as it left them. Errors: those of Transaction::begin.
Result<RowsNow> rows_now(const std::string& path, const std::string& changeset);
/// Gives the rows of a changeset their former values, and removes those that it inserted, all or none. Triggers and
/// foreign keys have no part in it. Errors: stale if a row is not as the changeset left it; those of a change.
Result<void> revert_rows(const std::string& path, const std::string& changeset, Transaction::Sync sync);

/// Opens a database that only arborfs writes, and that may be lost: several processes read it while one writes, and a
/// crash leaves it whole, without the last changes. A page that is not as it was written gives an error when it is
/// read. The file exists, and may be empty. Waits for no lock. Errors: as Connection::open.
Result<Connection> open_own_database(const std::string& path);

}  // namespace arborfs::sqlite
