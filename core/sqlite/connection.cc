#include "core/sqlite/connection.h"

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "core/base/result_macros.h"
#include "core/sqlite/set_up.h"
#include "core/sqlite/sqlite_error.h"

namespace arborfs::sqlite {
namespace {

/// Readers wait only while a program repairs the -wal, or closes the database as the last one.
constexpr std::chrono::milliseconds kPatience{200};
constexpr const char* kCannotOpen = "cannot open the database";

/// Settings for a database that may have been made to attack its readers.
void distrust(sqlite3* connection) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, Connection::kLongestValue);
}

/// Asks for a lock again after a millisecond, `patience` times. SQLite itself soon asks only every 100 ms, and may then
/// never meet a pause of a program that writes all the time.
int ask_again(void* patience, int times) {
  if (times >= reinterpret_cast<std::intptr_t>(patience)) {
    return 0;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 1;
}

/// Calls SQLite again after SQLITE_PROTOCOL: it gave up taking a lock of the -wal because other programs, one of which
/// may have been killed, opened, closed or recovered the database each time. Nothing has been done then. It calls no
/// busy handler for that.
template <class Call>
int unless_overtaken(const Call& call) {
  constexpr int kMostTries = 5;
  int code = call();
  for (int tries = 1; (code & 0xFF) == SQLITE_PROTOCOL && tries < kMostTries; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    code = call();
  }
  return code;
}

}  // namespace

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

void Statement::note(int bind_code) {
  const bool is_lost = bind_code != SQLITE_OK && bind_code != SQLITE_RANGE;
  bind_code_ = bind_code_ == SQLITE_OK && is_lost ? bind_code : bind_code_;
}

void Statement::bind(int parameter, std::string_view text) {
  note(sqlite3_bind_text64(statement_, parameter, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind(int parameter, std::int64_t number) {
  note(sqlite3_bind_int64(statement_, parameter, number));
}

void Statement::bind(int parameter, double number) {
  note(sqlite3_bind_double(statement_, parameter, number));
}

void Statement::bind_blob(int parameter, std::string_view bytes) {
  note(sqlite3_bind_blob64(statement_, parameter, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_STATIC));
}

Result<bool> Statement::step() {
  const int code = bind_code_ == SQLITE_OK ? unless_overtaken([&] { return sqlite3_step(statement_); }) : bind_code_;
  if (code == SQLITE_ROW || code == SQLITE_DONE) {
    return code == SQLITE_ROW;
  }
  return error_from_sqlite(code, "cannot read the database", sqlite3_db_handle(statement_), sqlite3_sql(statement_));
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bind_code_ = SQLITE_OK;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string_view Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, length);
}

Statement::Kind Statement::kind(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Kind::integer;
    case SQLITE_FLOAT:
      return Kind::real;
    case SQLITE_TEXT:
      return Kind::text;
    case SQLITE_BLOB:
      return Kind::blob;
    default:
      return Kind::null;
  }
}

std::string_view Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, length);
}

int Statement::columns() const {
  return sqlite3_column_count(statement_);
}

std::string_view Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

Result<Connection> Connection::open(const std::string& uri, int flags, const char* vfs) {
  set_up();
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, vfs);
  Connection connection(handle);
  if (code != SQLITE_OK) {
    return error_from_sqlite(code, kCannotOpen, handle);
  }
  distrust(handle);
  connection.wait_for_locks(kPatience);
  RETURN_IF_ERROR(connection.run("PRAGMA temp_store=MEMORY"));
  return connection;
}

Connection::~Connection() {
  sqlite3_close(connection_);
}

void Connection::wait_for_locks(std::chrono::milliseconds patience) const {
  sqlite3_busy_handler(connection_, ask_again, reinterpret_cast<void*>(patience.count()));
}

Result<void> Connection::run(const char* sql) const {
  const int code = unless_overtaken([&] { return sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr); });
  return code == SQLITE_OK ? Result<void>() : Result<void>(error_from_sqlite(code, kCannotOpen, connection_, sql));
}

void Connection::leave_out_triggers() const {
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
}

Result<Statement> Connection::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = unless_overtaken(
      [&] { return sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr); });
  if (code != SQLITE_OK) {
    return error_from_sqlite(code, "cannot query the database", connection_, sql);
  }
  return Statement(statement);
}

std::int64_t Connection::rows_changed() const {
  return sqlite3_total_changes(connection_);
}

Result<void> Connection::cache_up_to(std::size_t bytes) const {
  return run(("PRAGMA cache_size=-" + std::to_string(bytes >> 10U)).c_str());
}

Result<std::int64_t> Connection::data_version() const {
  ASSIGN_OR_RETURN(auto row, prepare("PRAGMA data_version"));
  RETURN_IF_ERROR(row.step());
  return row.integer(0);
}

Result<std::set<std::string>> Connection::columns_of(std::string_view table) const {
  ASSIGN_OR_RETURN(auto rows, prepare("PRAGMA table_info(\"" + std::string(table) + "\")"));
  std::set<std::string> columns;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      return columns;
    }
    columns.emplace(rows.text(1));
  }
}

}  // namespace arborfs::sqlite
