#include "core/sqlite/database.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/os/file.h"
#include "core/os/state_dir.h"
#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

namespace {

constexpr int kTemporary = SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_TRANSIENT_DB |
                           SQLITE_OPEN_SUBJOURNAL | SQLITE_OPEN_DELETEONCLOSE;

sqlite3_vfs* unix_vfs() {
  return sqlite3_vfs_find("unix");
}

int open_to_look(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  if ((flags & kTemporary) == 0) {
    flags = (flags & ~(SQLITE_OPEN_CREATE | SQLITE_OPEN_READWRITE)) | SQLITE_OPEN_READONLY;
  }
  return unix_vfs()->xOpen(unix_vfs(), name, file, flags, out_flags);
}

int refuse_to_delete(sqlite3_vfs* /*vfs*/, const char* /*name*/, int /*sync_folder*/) {
  return SQLITE_IOERR_DELETE;
}

/// SQLite tries a hundred times, and waits longer each time.
int wait_a_little(sqlite3_vfs* /*vfs*/, int microseconds) {
  constexpr int kLongest = 1000;
  return unix_vfs()->xSleep(unix_vfs(), std::min(microseconds, kLongest));
}

sqlite3_vfs make_looking_vfs() {
  sqlite3_vfs vfs = *unix_vfs();
  vfs.zName = "arborfs-looking";
  vfs.pNext = nullptr;
  vfs.xOpen = open_to_look;
  vfs.xDelete = refuse_to_delete;
  vfs.xSleep = wait_a_little;
  return vfs;
}

/// The name of SQLite's access to files for a connection that only looks, registered by the first call: no file is
/// created, truncated or removed, and a -wal is opened for reading only. SQLite by itself would create a -wal that is
/// missing, even for a read-only connection. It waits a tenth of a second in all, instead of ten, before it gives up a
/// -wal that it cannot make sense of.
const char* looking_vfs() {
  static sqlite3_vfs vfs = [] {
    set_up();
    return make_looking_vfs();
  }();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  return registered == SQLITE_OK ? vfs.zName : nullptr;
}

constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrameHeader = 24;

std::uint32_t big_endian(std::span<const char> bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

/// The size of the pages that follow the header; 0 if SQLite ignores it.
std::uint32_t page_size_in(std::span<const char, kHeader> header) {
  constexpr std::uint32_t kMagic = 0x377F0682;  // the last bit says how the checksums are computed
  constexpr std::uint32_t kSmallest = 512;
  constexpr std::uint32_t kLargest = 65536;
  const std::uint32_t size = big_endian(header, 8);
  const bool is_good =
      (big_endian(header, 0) & ~1U) == kMagic && std::has_single_bit(size) && size >= kSmallest && size <= kLargest;
  return is_good ? size : 0;
}

/// False if the -wal of the database at `path` surely holds no page, so that the database has everything: it is
/// missing, ends before its first page does, or has a header that SQLite ignores together with all that follows
/// (https://sqlite.org/fileformat2.html#walformat). A writer that is killed early leaves such a file. SQLite cannot
/// read beside one of 32 bytes, the header alone, if it may not write: it tries for ten seconds, and gives up.
bool may_hold_pages_in_wal(const std::string& path) {
  const std::filesystem::path whole(path);
  const auto folder = Dir::open_root(whole.parent_path());
  if (!folder) {
    return true;
  }
  FileStat st;
  const auto wal = File::open_in(*folder, whole.filename().string() + "-wal", &st);
  if (!wal) {
    return wal.error().code != Errc::not_found;
  }
  std::array<char, kHeader> header{};
  const auto got = wal->read_at(0, header);
  if (!got || *got < kHeader) {
    return !got;
  }
  const std::uint32_t page = page_size_in(header);
  return page != 0 && st.size >= kHeader + kFrameHeader + page;
}

constexpr const char* kCannotLook = "cannot open the database";

/// The stat of a regular file; nothing if there is none.
std::optional<FileStat> stat_of(const std::string& path) {
  const auto st = Dir::stat_root(path);
  return st && S_ISREG(st->mode) ? std::optional(*st) : std::nullopt;
}

/// Where SQLite looks for the files beside a database: next to what a link leads to.
std::string place_of(const std::string& path) {
  std::error_code failed;
  const auto end = link_target(path) ? std::filesystem::canonical(path, failed) : std::filesystem::path(path);
  return failed ? path : end.string();
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

/// Begins to see one state of the database, which keeps no writer waiting. Reads the schema.
Result<void> begin_reading(const Connection& connection) {
  RETURN_IF_ERROR(connection.run("BEGIN"));
  return connection.run("SELECT count(*) FROM sqlite_schema");
}

/// True if what failed last on the connection can be read from a copy: only a writer may repair the files in place, or
/// this user may not look at the -shm.
bool needs_writer(sqlite3* connection) {
  const int code = sqlite3_errcode(connection) & 0xFF;
  const bool is_refused = code == SQLITE_CANTOPEN && sqlite3_system_errno(connection) == EACCES;
  return is_refused || code == SQLITE_READONLY || code == SQLITE_PROTOCOL;
}

/// The lock of a reader, on a database whose connection takes none by itself.
class SharedLock {
 public:
  explicit SharedLock(sqlite3* connection) {
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file_);
    is_held_ = file_ != nullptr && file_->pMethods != nullptr &&
               file_->pMethods->xLock(file_, SQLITE_LOCK_SHARED) == SQLITE_OK;
  }
  ~SharedLock() {
    if (is_held_) {
      file_->pMethods->xUnlock(file_, SQLITE_LOCK_NONE);
    }
  }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  sqlite3_file* file_ = nullptr;
  bool is_held_ = false;
};

constexpr std::size_t kCopyPiece = 1 << 20;
constexpr mode_t kPrivate = 0600;
constexpr std::array kBeside = {"-wal", "-journal"};
constexpr const char* kCannotCopy = "cannot copy the database";

/// Reads through SQLite's own descriptor: closing another one would drop the locks that this process has.
Result<void> copy_database(const Connection& source, int into, Disk& disk) {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  sqlite3_file_control(source.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
    return Error{Errc::io, kCannotCopy};
  }
  std::string piece;
  for (sqlite3_int64 at = 0; at < size; at += static_cast<sqlite3_int64>(piece.size())) {
    piece.resize(static_cast<std::size_t>(std::min<sqlite3_int64>(kCopyPiece, size - at)));
    const int code = file->pMethods->xRead(file, piece.data(), static_cast<int>(piece.size()), at);
    if (code != SQLITE_OK) {
      return error_from_sqlite(code, kCannotCopy);
    }
    RETURN_IF_ERROR(write_all(disk, into, piece));
  }
  return {};
}

/// Does nothing if there is no such file.
Result<void> copy_file(const Dir& from, const std::string& name, const Dir& folder, const std::string& copy,
                       Disk& disk) {
  const auto file = File::open_in(from, name);
  if (!file) {
    return file.error().code == Errc::not_found ? Result<void>() : Result<void>(file.error());
  }
  ASSIGN_OR_RETURN(const auto into, disk.create(folder, copy, kPrivate));
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const auto piece, file->read(at, kCopyPiece));
    RETURN_IF_ERROR(write_all(disk, into.get(), piece));
    at += piece.size();
    if (piece.size() < kCopyPiece) {
      return {};
    }
  }
}

Result<void> fill(const Connection& source, const std::string& path, const Dir& folder, const std::string& name,
                  Disk& disk) {
  {
    ASSIGN_OR_RETURN(const auto database, disk.create(folder, name, kPrivate));
    RETURN_IF_ERROR(copy_database(source, database.get(), disk));
  }
  const std::filesystem::path whole(path);
  ASSIGN_OR_RETURN(const auto beside, Dir::open_root(whole.parent_path()));
  for (const char* ending : kBeside) {
    RETURN_IF_ERROR(copy_file(beside, whole.filename().string() + ending, folder, name + ending, disk));
  }
  return {};
}

/// Removes the copies of processes that were killed before they had unlinked them.
void clear_copies(const Dir& folder, Disk& disk) {
  const auto entries = folder.list();
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    long pid = 0;
    const auto read = std::from_chars(entry.name.data(), entry.name.data() + entry.name.size(), pid);
    const bool is_copy = read.ec == std::errc() && *read.ptr == '-' && pid > 0;
    if (is_copy && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) {
      static_cast<void>(disk.remove(folder, entry.name));
    }
  }
}

/// Exclusive: no -shm is made.
Result<Connection> open_copy(const std::string& path) {
  ASSIGN_OR_RETURN(auto copy, Connection::open(file_uri(path) + "?mode=rw", SQLITE_OPEN_READWRITE, nullptr));
  RETURN_IF_ERROR(copy.run("PRAGMA locking_mode=EXCLUSIVE"));
  RETURN_IF_ERROR(copy.run("SELECT count(*) FROM sqlite_schema"));
  return copy;
}

/// Calls `take` with each row of a pragma, up to kMostIntegrityFaults.
template <class Take>
Result<void> each_fault(const Connection& connection, std::string_view pragma, const Take& take) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare(pragma));
  for (std::size_t count = 0; count < kMostIntegrityFaults; ++count) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      break;
    }
    take(rows);
  }
  return {};
}

Result<void> find_faults(const Connection& connection, std::vector<IntegrityFault>& found) {
  RETURN_IF_ERROR(each_fault(connection, "PRAGMA quick_check(100)", [&](const Statement& row) {
    if (row.text(0) != "ok") {
      found.push_back({"corrupt_database", "SQLite finds the database damaged: " + std::string(row.text(0))});
    }
  }));
  if (!found.empty()) {
    return {};
  }
  // The columns: table, row, table referred to, number of the key.
  return each_fault(connection, "PRAGMA foreign_key_check", [&](const Statement& row) {
    found.push_back({"dangling_row", "row " + std::string(row.text(1)) + " of the table " + std::string(row.text(0)) +
                                         " refers to a row of " + std::string(row.text(2)) + " that does not exist"});
  });
}

/// SQLite opens a database that it may not write for reading, and then fails with an error that says nothing of that.
Result<void> check_writable(const std::string& path) {
  const bool is_refused = ::access(path.c_str(), W_OK) != 0 && errno != ENOENT;
  return is_refused ? error_from_errno(errno, "cannot write to the database") : Result<void>();
}

/// A private copy of a database with its -wal or -journal, for a database that cannot be read in place without writing
/// to it or next to it. Copies the database at `path`, which `source` has open, through `disk` to the state folder. The
/// copy's files are unlinked once it is open.
Result<Connection> private_copy(const Connection& source, const std::string& path, Disk& disk) {
  static std::atomic<unsigned> last{0};
  const std::string place = state_path("databases");
  ASSIGN_OR_RETURN(const auto folder, make_private_folder(disk, place, false));
  clear_copies(folder, disk);
  const std::string name = std::to_string(::getpid()) + "-" + std::to_string(++last) + ".db";
  auto copied = fill(source, path, folder, name, disk);
  auto connection = copied ? open_copy(place + "/" + name) : Result<Connection>(copied.error());
  static_cast<void>(disk.remove(folder, name));
  for (const char* ending : kBeside) {
    static_cast<void>(disk.remove(folder, name + ending));
  }
  return connection;
}

/// Keeps connections of this process that look at a database apart from those that begin to write. SQLite opens the
/// -shm of a database once in a process: if a read-only connection opens it, every other connection can also only read
/// it. Held shared while a reading connection is open, and exclusively while a writing one opens the -shm: then no
/// other lock is taken.
std::shared_timed_mutex& shared_memory_gate() {
  static std::shared_timed_mutex gate;
  return gate;
}

}  // namespace

/// The files next to the database.
struct Database::Files {
  std::string place;  // of the database, to which the names of the others add an ending
  DatabaseState state;
  FileStat journal;  // all zero if there is none
  bool has_shm = false;
  [[nodiscard]] bool has_wal() const { return state.wal.size > 0; }
  [[nodiscard]] bool has_journal() const { return journal.size > 0; }
  bool operator==(const Files&) const = default;
};

Database::Database(std::string path, std::vector<std::string> tables, Disk& disk)
    : path_(std::move(path)), tables_(std::move(tables)), disk_(disk) {}

Database::~Database() = default;

Database::Files Database::look() const {
  const std::string place = place_of(path_);
  const DatabaseState state{stat_of(place).value_or(FileStat()), stat_of(place + "-wal").value_or(FileStat())};
  return {place, state, stat_of(place + "-journal").value_or(FileStat()), stat_of(place + "-shm").has_value()};
}

Result<DatabaseState> Database::state() const {
  const auto st = Dir::stat_root(path_);
  RETURN_IF_ERROR(st);
  if (!S_ISREG(st->mode)) {
    return Error{Errc::corrupt, std::string(kCannotLook) + ": it is not a regular file"};
  }
  return DatabaseState{*st, stat_of(place_of(path_) + "-wal").value_or(FileStat())};
}

Result<Connection> Database::open(const std::string& parameters) const {
  return Connection::open(file_uri(path_) + parameters, SQLITE_OPEN_READONLY, looking_vfs());
}

void Database::restrict_to_tables(sqlite3* connection) const {
  sqlite3_set_authorizer(connection, allow_reading, const_cast<std::vector<std::string>*>(&tables_));
}

Result<void> Database::read(const Reading& reading) const {
  constexpr int kTriesWithoutLock = 2;
  constexpr int kFewestTries = 4;
  constexpr std::chrono::milliseconds kLongest{500};
  RETURN_IF_ERROR(state());
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  for (int tries = 0; tries < kFewestTries || std::chrono::steady_clock::now() < deadline; ++tries) {
    if (tries >= kFewestTries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const auto locking = tries < kTriesWithoutLock ? Locking::none : Locking::shared;
    ASSIGN_OR_RETURN(const bool is_reliable, read_once(reading, locking));
    if (is_reliable) {
      return {};
    }
  }
  return Error{Errc::busy, "the database changes faster than it can be read; try again"};
}

Result<bool> Database::read_once(const Reading& reading, Locking locking) const {
  const Files files = look();
  const bool has_pages_in_wal = files.has_wal() && may_hold_pages_in_wal(files.place);
  if (files.has_journal() || (files.has_shm && has_pages_in_wal)) {
    return read_shared(files, reading);
  }
  if (has_pages_in_wal) {
    return read_copy(files, reading);
  }
  return locking == Locking::shared ? read_locked(files, reading) : read_closed(files, reading);
}

Result<bool> Database::read_shared(const Files& files, const Reading& reading) const {
  std::shared_lock looking(shared_memory_gate());
  ASSIGN_OR_RETURN(const auto connection, open("?mode=ro&readonly_shm=1"));
  if (const auto begun = begin_reading(connection); !begun) {
    if (!(look() == files)) {
      return false;
    }
    RETURN_IF_ERROR(needs_writer(connection.handle()) ? Result<void>() : begun);
    looking.unlock();
    return read_copy(files, reading);
  }
  restrict_to_tables(connection.handle());
  RETURN_IF_ERROR(reading(connection));
  return true;
}

/// Unreliable if a program opened the database meanwhile.
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

/// For a database that programs open for each of their changes: the last one to close it cannot write to it meanwhile,
/// which takes an exclusive lock, and leaves its -wal.
Result<bool> Database::read_locked(const Files& files, const Reading& reading) const {
  ASSIGN_OR_RETURN(const auto connection, open("?mode=ro&immutable=1"));
  const SharedLock lock(connection.handle());
  if (!lock.is_held() || !(look() == files)) {
    return false;
  }
  restrict_to_tables(connection.handle());
  const auto done = reading(connection);
  const Files now = look();
  if (!(now.state.database == files.state.database && now.journal == files.journal)) {
    return false;
  }
  RETURN_IF_ERROR(done);
  return true;
}

Result<bool> Database::read_copy(const Files& files, const Reading& reading) const {
  const std::lock_guard lock(copy_mutex_);
  if (!copy_ || !(*copied_ == files)) {
    copy_.reset();
    ASSIGN_OR_RETURN(const auto source, open("?mode=ro&immutable=1"));
    auto copy = private_copy(source, files.place, disk_);
    if (!(look() == files)) {
      return false;
    }
    ASSIGN_OR_RETURN(auto opened, std::move(copy));
    copy_.emplace(std::move(opened));
    copied_ = std::make_unique<const Files>(files);
    restrict_to_tables(copy_->handle());
  }
  RETURN_IF_ERROR(reading(*copy_));
  return true;
}

std::vector<IntegrityFault> integrity_faults(const Database& database) {
  std::vector<IntegrityFault> found;
  const auto done = database.read([&](const Connection& connection) {
    found.clear();
    return find_faults(connection, found);
  });
  if (!done && done.error().code != Errc::not_found && found.empty()) {
    const bool is_corrupt = done.error().code == Errc::corrupt;
    found.push_back({is_corrupt ? "corrupt_database" : "unreadable", done.error().message});
  }
  return found;
}

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

void Transaction::record() {
  sqlite3_session* made = nullptr;
  const bool is_on = sqlite3session_create(connection_.handle(), "main", &made) == SQLITE_OK &&
                     sqlite3session_attach(made, nullptr) == SQLITE_OK;
  recording_ = Recording(made, sqlite3session_delete);
  if (!is_on) {
    recording_.reset();
  }
}

std::string Transaction::changeset() const {
  int size = 0;
  void* bytes = nullptr;
  const bool is_known = recording_ && sqlite3session_changeset(recording_.get(), &size, &bytes) == SQLITE_OK;
  std::string changes(is_known ? static_cast<const char*>(bytes) : "", is_known ? static_cast<std::size_t>(size) : 0);
  sqlite3_free(bytes);
  return changes;
}

namespace {

Result<Transaction> begin_revert(const std::string& path, Transaction::Sync sync) {
  ASSIGN_OR_RETURN(auto connection, Transaction::connect(path, sync));
  RETURN_IF_ERROR(connection.run("PRAGMA foreign_keys=OFF"));
  connection.leave_out_triggers();
  // The tables in which SQLite keeps a full text index change by their rows, as all others.
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  return Transaction::begin(std::move(connection));
}

/// False if a row is not as the changeset expects it; nothing is changed then. Errors: those of a change.
Result<bool> apply(const Connection& connection, std::string changeset) {
  const auto stop = [](void*, int, sqlite3_changeset_iter*) { return SQLITE_CHANGESET_ABORT; };
  const int code = sqlite3changeset_apply(connection.handle(), static_cast<int>(changeset.size()), changeset.data(),
                                          nullptr, stop, nullptr);
  if (code != SQLITE_OK && code != SQLITE_ABORT) {
    return error_from_sqlite(code, "cannot take the change back", connection.handle());
  }
  return code == SQLITE_OK;
}

Result<std::string> inverse_of(std::string changeset) {
  int size = 0;
  void* bytes = nullptr;
  const int code = sqlite3changeset_invert(static_cast<int>(changeset.size()), changeset.data(), &size, &bytes);
  std::string inverse(code == SQLITE_OK ? static_cast<const char*>(bytes) : "",
                      code == SQLITE_OK ? static_cast<std::size_t>(size) : 0);
  sqlite3_free(bytes);
  return code == SQLITE_OK ? Result<std::string>(std::move(inverse))
                           : Error{Errc::corrupt, "the record of the change cannot be read"};
}

}  // namespace

Result<RowsNow> rows_now(const std::string& path, const std::string& changeset) {
  ASSIGN_OR_RETURN(const auto inverse, inverse_of(changeset));
  ASSIGN_OR_RETURN(const auto looking, begin_revert(path, Transaction::Sync::left_to_kernel));
  ASSIGN_OR_RETURN(const bool is_changed, apply(looking.connection(), inverse));
  if (is_changed) {
    return RowsNow::as_changed;
  }
  ASSIGN_OR_RETURN(const bool is_before, apply(looking.connection(), changeset));
  return is_before ? RowsNow::as_before : RowsNow::other;
}

Result<void> revert_rows(const std::string& path, const std::string& changeset, Transaction::Sync sync) {
  ASSIGN_OR_RETURN(const auto inverse, inverse_of(changeset));
  ASSIGN_OR_RETURN(const auto change, begin_revert(path, sync));
  ASSIGN_OR_RETURN(const bool is_done, apply(change.connection(), inverse));
  return is_done ? change.commit() : Result<void>(Errc::stale, "another program changed the rows since");
}

/// The page that makes the commit valid is written last. Errors of syncs and of the shared memory come after that.
bool Transaction::is_surely_undone() const {
  const int code = sqlite3_extended_errcode(connection_.handle());
  return (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_FULL || code == SQLITE_IOERR_WRITE;
}

}  // namespace arborfs::sqlite
