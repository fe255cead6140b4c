// A connection to an SQLite database, and the queries on it. Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace arborfs::sqlite {

/// A prepared query; its connection outlives it.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement();
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)), bind_code_(other.bind_code_) {}
  Statement& operator=(Statement&&) = delete;

  /// `parameter` counts from 1; one that is not bound is null, one that the query does not have is ignored. The text
  /// needs to live until the next step or bind. After a value that SQLite refuses, such as one that is too long, each
  /// step fails until the reset.
  void bind(int parameter, std::string_view text);
  void bind(int parameter, std::int64_t number);
  void bind(int parameter, double number);
  void bind_blob(int parameter, std::string_view bytes);
  /// True if there is a next row. Errors: busy, corrupt, too_large, io.
  Result<bool> step();
  /// Calls `take` with this query in each row, and resets it. Errors: those of step() and, if it returns a Result, of
  /// `take`, which end it.
  template <class Take>
  Result<void> each_row(const Take& take);
  /// Resets the query, for other parameters.
  void reset();

  /// Columns count from 0. Values are converted as SQLite does: null is "" and 0. Texts live until the next step.
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view text(int column) const;

  /// How a value is stored.
  enum class Kind : std::uint8_t { null, integer, real, text, blob };
  [[nodiscard]] Kind kind(int column) const;
  [[nodiscard]] std::string_view blob(int column) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::string_view column_name(int column) const;

 private:
  void note(int bind_code);
  sqlite3_stmt* statement_;
  int bind_code_ = 0;  // the first failure of a bind
};

template <class Take>
Result<void> Statement::each_row(const Take& take) {
  for (;;) {
    const Result<bool> has_row = step();
    if (!has_row) {
      return has_row.error();
    }
    if (!*has_row) {
      reset();
      return {};
    }
    if constexpr (std::is_void_v<decltype(take(*this))>) {
      take(*this);
    } else if (auto taken = take(*this); !taken) {
      return taken.error();
    }
  }
}

/// A database that is open. Closing it writes nothing.
class Connection {
 public:
  /// Opens a `file:` URI with the flags of sqlite3_open_v2; `vfs` may be null. The database is not trusted, and its
  /// values may not be longer than kLongestValue. Errors: not_found, permission, corrupt, busy, io.
  static Result<Connection> open(const std::string& uri, int flags, const char* vfs);
  ~Connection();
  Connection(Connection&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Connection& operator=(Connection&&) = delete;

  /// How long statements wait for locks of other connections; 200 ms by default.
  void wait_for_locks(std::chrono::milliseconds patience) const;
  /// Runs a statement without results. Errors: as open.
  Result<void> run(const char* sql) const;
  /// Triggers of the database run no more: in one, SQLite refuses the tables of its modules, because the database is
  /// not trusted.
  void leave_out_triggers() const;
  /// Errors: those of reading (Statement::step), and unsupported if a table or column is missing, or is not one that
  /// may be read.
  [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;
  /// The same with values for its parameters, in their order; texts live as long as for Statement::bind.
  template <class... Values>
  [[nodiscard]] Result<Statement> query(std::string_view sql, Values&&... values) const {
    static_assert((!std::is_same_v<Values, std::string> && ...), "this string ends before the first step");
    Result<Statement> statement = prepare(sql);
    int parameter = 0;
    if (statement) {
      (statement->bind(++parameter, values), ...);
    }
    return statement;
  }
  /// Runs a statement with values, to its first row. Errors: those of prepare and of Statement::step.
  template <class... Values>
  Result<void> execute(std::string_view sql, const Values&... values) const {
    Result<Statement> statement = query(sql, values...);
    const Result<bool> done = statement ? statement->step() : Result<bool>(statement.error());
    return done ? Result<void>() : Result<void>(done.error());
  }
  /// The columns of a table; none if there is no such table. Errors: busy, corrupt, too_large, io.
  [[nodiscard]] Result<std::set<std::string>> columns_of(std::string_view table) const;
  /// How many rows this connection has inserted, changed and removed, those that followed by foreign keys and triggers
  /// included.
  [[nodiscard]] std::int64_t rows_changed() const;
  /// About how much of the database it keeps in memory. A connection that reads each page once needs little, and pages
  /// of memory that were never used before cost more than reading from the kernel's cache.
  Result<void> cache_up_to(std::size_t bytes) const;
  static constexpr std::size_t kUsualCache = std::size_t{2000} << 10U;  // SQLite's own choice
  /// A number that changes when another connection commits anything.
  [[nodiscard]] Result<std::int64_t> data_version() const;
  [[nodiscard]] sqlite3* handle() const { return connection_; }

  static constexpr int kLongestValue = 64 << 20;

 private:
  explicit Connection(sqlite3* connection) : connection_(connection) {}
  sqlite3* connection_;
};

// Internal to core/sqlite:

/// Settings of SQLite itself, for all connections of this process. Comes before every other call of SQLite. Any thread.
void set_up();

/// SQLite's result code as an error of this program. `doing` is the operation that failed, such as "cannot open the
/// database"; right after it failed on `connection`, if that is not null. `sql` is the statement, without values; an
/// error that says too little (io) names it, with SQLite's extended code (https://sqlite.org/rescode.html) and the
/// system's error.
Error error_from_sqlite(int code, const std::string& doing, sqlite3* connection = nullptr, std::string_view sql = {});

/// The `file:` URI of an absolute path, to which parameters may be added.
std::string file_uri(const std::string& path);

}  // namespace arborfs::sqlite
