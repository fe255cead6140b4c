#include "core/sqlite/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/sqlite/looking_vfs.h"
#include "core/sqlite/private_copy.h"
#include "core/sqlite/shared_memory_gate.h"

namespace arborfs::sqlite {
namespace {

constexpr int kTries = 4;
constexpr const char* kCannotLook = "cannot open the database";

/// The stat of a regular file; nothing if there is none.
std::optional<FileStat> stat_of(const std::string& path) {
  const auto st = Dir::stat_root(path);
  return st && S_ISREG(st->mode) ? std::optional(*st) : std::nullopt;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The checks of a database report names of tables and numbers of rows, but no values.
int allow_reading(void* tables, int action, const char* table, const char* /*column*/, const char* /*database*/,
                  const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_FUNCTION:
    case SQLITE_TRANSACTION:
      return SQLITE_OK;
    case SQLITE_PRAGMA:
      return is_one_of(table, {"table_info", "quick_check", "foreign_key_check"}) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_READ: {
      const auto& allowed = *static_cast<const std::vector<std::string>*>(tables);
      return table == std::string_view("sqlite_master") ||
                     std::find(allowed.begin(), allowed.end(), table) != allowed.end()
                 ? SQLITE_OK
                 : SQLITE_DENY;
    }
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

/// The files next to the database.
struct Database::Files {
  DatabaseState state;
  bool has_database = false;
  bool has_shm = false;
  bool has_wal = false;
  bool has_journal = false;
  bool operator==(const Files&) const = default;
};

Database::Database(std::string path, std::vector<std::string> tables, Disk& disk)
    : path_(std::move(path)), tables_(std::move(tables)), disk_(disk) {}

Database::~Database() = default;

Database::Files Database::look() const {
  Files files;
  const auto database = stat_of(path_);
  const auto wal = stat_of(path_ + "-wal");
  const auto journal = stat_of(path_ + "-journal");
  files.has_database = database.has_value();
  files.has_wal = wal && wal->size > 0;
  files.has_shm = stat_of(path_ + "-shm").has_value();
  files.has_journal = journal && journal->size > 0;
  files.state = {database.value_or(FileStat()), wal.value_or(FileStat())};
  return files;
}

Result<DatabaseState> Database::state() const {
  const auto st = Dir::stat_root(path_);
  RETURN_IF_ERROR(st);
  if (!S_ISREG(st->mode)) {
    return Error{Errc::corrupt, std::string(kCannotLook) + ": it is not a regular file"};
  }
  return DatabaseState{*st, stat_of(path_ + "-wal").value_or(FileStat())};
}

Result<Connection> Database::open(const std::string& parameters) const {
  return Connection::open(file_uri(path_) + parameters, SQLITE_OPEN_READONLY, looking_vfs());
}

void Database::restrict_to_tables(sqlite3* connection) const {
  sqlite3_set_authorizer(connection, allow_reading, const_cast<std::vector<std::string>*>(&tables_));
}

Result<void> Database::read(const Reading& reading) const {
  RETURN_IF_ERROR(state());
  for (int i = 0; i < kTries; ++i) {
    const Files files = look();
    const bool is_open_elsewhere = (files.has_shm && files.has_wal) || files.has_journal;
    if (is_open_elsewhere) {
      auto done = read_shared(reading);
      if (done || look() == files || i + 1 == kTries) {
        return done;
      }
      continue;
    }
    ASSIGN_OR_RETURN(const bool is_reliable, files.has_wal ? read_copy(files, reading) : read_closed(files, reading));
    if (is_reliable) {
      return {};
    }
  }
  return Error{Errc::busy, "the database changes faster than it can be read"};
}

/// The transaction makes the statements see one state. It keeps no writer waiting.
Result<void> Database::read_shared(const Reading& reading) const {
  const std::shared_lock look(shared_memory_gate());
  ASSIGN_OR_RETURN(const auto connection, open("?mode=ro&readonly_shm=1"));
  RETURN_IF_ERROR(connection.run("BEGIN"));
  restrict_to_tables(connection.handle());
  return reading(connection);
}

/// False if a program opened the database meanwhile.
Result<bool> Database::read_closed(const Files& files, const Reading& reading) const {
  ASSIGN_OR_RETURN(const auto connection, open("?mode=ro&immutable=1"));
  restrict_to_tables(connection.handle());
  const auto done = reading(connection);
  if (!(look() == files)) {
    return false;
  }
  RETURN_IF_ERROR(done);
  return true;
}

/// False if the files changed while they were copied.
Result<bool> Database::read_copy(const Files& files, const Reading& reading) const {
  const std::lock_guard lock(copy_mutex_);
  if (copy_ == nullptr || !(copied_ == files.state)) {
    copy_.reset();
    ASSIGN_OR_RETURN(const auto source, open("?mode=ro&immutable=1"));
    auto copy = PrivateCopy::make(source, path_, disk_);
    if (!(look() == files)) {
      return false;
    }
    ASSIGN_OR_RETURN(copy_, std::move(copy));
    copied_ = files.state;
    restrict_to_tables(copy_->connection().handle());
  }
  RETURN_IF_ERROR(reading(copy_->connection()));
  return true;
}

}  // namespace arborfs::sqlite
