// One row of a table as a line of JSON, without loss: {"table":…,"columns":[…],"values":[…]}. A value is a string,
// null, or an integer; others are an object of one member: {"real":"0.5"}, {"integer":"9007199254740993"}, and in hex
// {"text":…} that is not UTF-8, and {"blob":…}. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/sqlite/connection.h"

namespace arborfs::opencode {

struct Blob {
  std::string bytes;
};
using CellValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, Blob>;

struct Row {
  std::string table;
  std::vector<std::pair<std::string, CellValue>> cells;  // by column
};

/// The line of any row of a statement up to its values.
std::string line_begin(std::string_view table, const sqlite::Statement& rows);
/// Appends the values of the current row, with the end of the line.
void append_values(const sqlite::Statement& row, std::string& lines);
/// The row has at least one cell.
void append_row(const Row& row, std::string& lines);
/// Errors: corrupt.
Result<Row> parse_row(std::string_view line);
/// `value` needs to live until the statement's next step or bind.
void bind(sqlite::Statement& statement, int parameter, const CellValue& value);

}  // namespace arborfs::opencode
