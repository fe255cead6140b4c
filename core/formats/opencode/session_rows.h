// All rows of OpenCode's database that belong to sessions, as lines of JSON, and back (opencode/FORMAT.md G4). The
// schema shows which tables have such rows: those whose rows are removed with the row of the session through foreign
// keys, and the events. Used within one transaction; nothing here commits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/formats/opencode/new_message.h"
#include "core/sqlite/connection.h"

namespace arborfs::opencode {

struct Blob {
  std::string bytes;
};
using CellValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, Blob>;

/// One row of a table. As a line of JSON, without loss, it is {"table":…,"columns":[…],"values":[…]}. A value is a
/// string, null, or an integer; others are an object of one member: {"real":"0.5"}, {"integer":"9007199254740993"}, and
/// in hex {"text":…} that is not UTF-8, and {"blob":…}.
struct Row {
  std::string table;
  std::vector<std::pair<std::string, CellValue>> cells;  // by column
};

/// Errors: corrupt.
Result<Row> parse_row(std::string_view line);
/// A sum of the rows that read() has read: equal for equal rows, whatever their order.
struct RowsSum {
  std::int64_t rows = 0;  // that go with the sessions
  std::uint64_t hash = 0;
  bool operator==(const RowsSum&) const = default;
};

class SessionRows {
 public:
  /// `connection` outlives it. Errors: unsupported if the tables are not those of OpenCode; those of reading.
  static Result<SessionRows> of(const sqlite::Connection& connection);

  /// Each row as one line with its line feed, in an order in which they can be inserted; the project comes before the
  /// rows of its session. Errors: those of reading and of `take`.
  using Take = std::function<Result<void>(std::string_view line)>;
  [[nodiscard]] Result<RowsSum> read(const std::vector<std::string>& sessions, const Take& take) const;
  /// Removes the sessions, the last one first. `rows` is the number of rows that read() returned. Errors: those of
  /// writing; unsupported if other rows would change too.
  [[nodiscard]] Result<void> remove(const std::vector<std::string>& sessions, std::int64_t rows) const;
  /// Inserts the rows of lines. An existing project stays unchanged; tables and columns that the database no longer has
  /// are left out. Errors: corrupt if a line is not from read(); already_exists; those of writing.
  [[nodiscard]] Result<void> insert(std::string_view lines) const;

 private:
  explicit SessionRows(const sqlite::Connection& connection) : connection_(&connection) {}
  struct Table {
    std::string name;
    std::string where;  // selects the rows of the session ?1
  };
  Result<void> find_tables();
  const sqlite::Connection* connection_;
  std::vector<Table> tables_;
};

/// The session and those that were started from it, each after its parent. Errors: not_found; those of reading.
Result<std::vector<std::string>> family_of(const sqlite::Connection& connection, const std::string& session);
/// The ids of the sessions among lines of read().
std::vector<std::string> sessions_in(std::string_view lines);
/// The sum that read() gave for these lines.
RowsSum sum_of(std::string_view lines);

/// Inserts a message and its parts.
Result<void> insert_message(const sqlite::Connection& database, const std::string& session,
                            const MessageRecords& message);
/// With what says whether OpenCode writes to the session (opencode/FORMAT.md G2).
Result<LastMessage> last_message(const sqlite::Connection& database, const std::string& session);
/// Errors: busy if OpenCode answers in one of the sessions.
Result<void> check_quiet(const sqlite::Connection& connection, const std::vector<std::string>& sessions);

}  // namespace arborfs::opencode
