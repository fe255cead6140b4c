#include "core/sqlite/connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "core/base/error.h"

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

/// Touches each page as a write does, changes nothing, and fails where a write would end the process.
bool can_write_pages(void* address, std::size_t length) {
  if (::madvise(address, length, MADV_POPULATE_WRITE) == 0) {
    return true;
  }
  const bool is_full = errno == EFAULT;  // else the kernel (before 5.14) does not know the call
  errno = is_full ? ENOSPC : errno;
  return !is_full;
}

/// Other programs may write to the file meanwhile: what is there stays.
bool has_space(void* address, std::size_t length, int fd, off_t offset) {
  const int done = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(length));
  return done == 0 || (errno == EOPNOTSUPP && can_write_pages(address, length));
}

void* map(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) {
  void* const mapped = ::mmap(address, length, protection, flags, fd, offset);
  const bool is_written = fd >= 0 && (protection & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0;
  if (mapped == MAP_FAILED || !is_written || has_space(mapped, length, fd, offset)) {
    return mapped;
  }
  const int error = errno;
  ::munmap(mapped, length);
  errno = error;
  return MAP_FAILED;
}

int keep_owner(int /*fd*/, uid_t /*owner*/, gid_t /*group*/) {
  return 0;
}

/// Memory that is shared through a file and written is mapped only if the file has space behind it. SQLite writes a
/// byte for each 4 KiB of a -shm, which leaves holes where blocks are smaller, and adds nothing to a file that another
/// program made; a write to a page without space would end the process (SIGBUS). Such a file gives SQLITE_IOERR_SHMMAP,
/// with ENOSPC or EDQUOT as the system's error. A copy-on-write file system may still refuse a later write.
///
/// No file is given another owner: for root, SQLite gives each -wal and -shm that it opens the owner of the database.
/// That changes their ctime and wakes whatever watches them. arborfs writes only to databases of its own user, whose
/// new files have the right owner.
///
/// Initializes SQLite. Once, before the first connection.
void replace_system_calls() {
  sqlite3_initialize();
  sqlite3_vfs* const vfs = sqlite3_vfs_find("unix");
  vfs->xSetSystemCall(vfs, "mmap", reinterpret_cast<sqlite3_syscall_ptr>(map));
  vfs->xSetSystemCall(vfs, "fchown", reinterpret_cast<sqlite3_syscall_ptr>(keep_owner));
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
  RETURN_IF_ERROR(rows.each_row([&](const Statement& row) { columns.emplace(row.text(1)); }));
  return columns;
}

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

/// Without its statistics, SQLite's allocations share no lock. A thread that runs only when the machine is idle could
/// be preempted while it holds that lock, and every other use of SQLite would wait for it.
void set_up() {
  static const bool is_done = [] {
    // An error means that SQLite is in use already; it works with its statistics too.
    static_cast<void>(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0));
    replace_system_calls();
    return true;
  }();
  static_cast<void>(is_done);
}

std::string file_uri(const std::string& path) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string escaped = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      escaped += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace arborfs::sqlite
