#include "core/formats/opencode/session_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/opencode/session_archive.h"
#include "core/json/document.h"
#include "core/json/utf8.h"

namespace arborfs::opencode {
namespace {

using sqlite::Statement;

/// Doubles, and so the numbers of JSON, are exact up to here.
constexpr std::int64_t kExact = std::int64_t{1} << 53U;

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xFU];
  }
  return hex;
}

std::optional<std::string> bytes_of(std::string_view hex) {
  std::string bytes;
  for (; hex.size() > 1; hex.remove_prefix(2)) {
    unsigned byte = 0;
    const auto end = std::from_chars(hex.data(), hex.data() + 2, byte, 16);
    if (end.ptr != hex.data() + 2) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
  }
  return hex.empty() ? std::optional(bytes) : std::nullopt;
}

template <class Number>
std::string text_of(Number number) {
  std::string text(40, '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  text.resize(static_cast<std::size_t>(end.ptr - text.data()));
  return text;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && end.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

void append_named(std::string_view kind, std::string_view value, std::string& out) {
  out.append("{\"").append(kind).append("\":\"").append(value).append("\"}");
}

void append_integer(std::int64_t number, std::string& out) {
  if (number > -kExact && number < kExact) {
    out += text_of(number);
  } else {
    append_named("integer", text_of(number), out);
  }
}

void append_text(std::string_view text, std::string& out) {
  if (json::is_valid_utf8(text)) {
    json::stringify_string(text, out);
  } else {
    append_named("text", hex_of(text), out);
  }
}

void append_value(const Statement& row, int column, std::string& out) {
  switch (row.kind(column)) {
    case Statement::Kind::null:
      out += "null";
      return;
    case Statement::Kind::integer:
      return append_integer(row.integer(column), out);
    case Statement::Kind::real:
      return append_named("real", text_of(row.real(column)), out);
    case Statement::Kind::blob:
      return append_named("blob", hex_of(row.blob(column)), out);
    case Statement::Kind::text:
      return append_text(row.text(column), out);
  }
}

/// The line of any row of a statement up to its values.
std::string line_begin(std::string_view table, const Statement& rows) {
  std::string line = R"({"table":)";
  json::stringify_string(table, line);
  line += R"(,"columns":)";
  for (int column = 0; column < rows.columns(); ++column) {
    line += column == 0 ? '[' : ',';
    json::stringify_string(rows.column_name(column), line);
  }
  return line + R"(],"values":)";
}

/// Appends the values of the current row, with the end of the line.
void append_values(const Statement& row, std::string& lines) {
  for (int column = 0; column < row.columns(); ++column) {
    lines += column == 0 ? '[' : ',';
    append_value(row, column, lines);
  }
  lines += "]}\n";
}

/// `value` needs to live until the statement's next step or bind.
void bind(Statement& statement, int parameter, const CellValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    statement.bind(parameter, *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    statement.bind(parameter, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    statement.bind(parameter, std::string_view(*text));
  } else if (const auto* blob = std::get_if<Blob>(&value)) {
    statement.bind_blob(parameter, blob->bytes);
  }
}

Error no_row() {
  return {Errc::corrupt, "a row of the session in the trash cannot be read"};
}

template <class Value>
Result<CellValue> cell(std::optional<Value> value) {
  return value ? Result<CellValue>(CellValue(*std::move(value))) : no_row();
}

Result<CellValue> named_value(const json::Value& object) {
  if (const auto real = json::string_member(object, "real")) {
    return cell(number_of<double>(*real));
  }
  if (const auto integer = json::string_member(object, "integer")) {
    return cell(number_of<std::int64_t>(*integer));
  }
  if (const auto text = json::string_member(object, "text")) {
    return cell(bytes_of(*text));
  }
  if (const auto blob = json::string_member(object, "blob")) {
    if (auto bytes = bytes_of(*blob)) {
      return CellValue(Blob{*std::move(bytes)});
    }
  }
  return no_row();
}

Result<CellValue> value_of(const json::Value& value) {
  if (value.IsString()) {
    return CellValue(std::string(json::as_string(value)));
  }
  if (value.IsNumber()) {
    return CellValue(static_cast<std::int64_t>(value.GetDouble()));
  }
  if (value.IsNull()) {
    return CellValue(nullptr);
  }
  return named_value(value);
}

using sqlite::Connection;
using sqlite::Statement;

constexpr std::string_view kSession = "session";
constexpr std::string_view kProject = "project";
constexpr std::string_view kEventSequence = "event_sequence";

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    text.append(c == '"' ? 2 : 1, c);
  }
  return text + '"';
}

/// A foreign key whose rows are removed with those that it names.
struct Link {
  std::string child;
  std::string from;
  std::string parent;
  std::string to;  // "" for the parent's primary key
};

Result<std::vector<std::string>> tables_of(const Connection& connection) {
  std::vector<std::string> names;
  ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"));
  RETURN_IF_ERROR(rows.each_row([&](const Statement& row) { names.emplace_back(row.text(0)); }));
  return names;
}

Result<std::vector<Link>> links_of(const Connection& connection, const std::vector<std::string>& tables) {
  std::vector<Link> links;
  for (const std::string& table : tables) {
    ASSIGN_OR_RETURN(auto rows, connection.prepare("PRAGMA foreign_key_list(" + quoted_name(table) + ")"));
    RETURN_IF_ERROR(rows.each_row([&](const Statement& row) {
      if (row.text(6) == "CASCADE") {
        links.push_back({table, std::string(row.text(3)), std::string(row.text(2)), std::string(row.text(4))});
      }
    }));
  }
  return links;
}

/// Calls `take` with each line; stops at its first error.
template <class TakeLine>
Result<void> for_each_line(std::string_view lines, const TakeLine& take) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    RETURN_IF_ERROR(take(lines.substr(0, end)));
    lines.remove_prefix(end);
  }
  return {};
}

bool is_of_table(std::string_view line, std::string_view table) {
  return line.starts_with(R"({"table":")" + std::string(table) + "\",");
}

void add(RowsSum& sum, std::string_view line) {
  ++sum.rows;
  sum.hash += xxh64(line);
}

Result<void> read_rows(const Connection& connection, const std::string& table, const std::string& where,
                       std::string_view session, const SessionRows::Take& take) {
  ASSIGN_OR_RETURN(auto rows, connection.query("SELECT * FROM " + quoted_name(table) + " WHERE " + where, session));
  const std::string begin = line_begin(table, rows);
  std::string line;
  return rows.each_row([&](const Statement& row) {
    line = begin;
    append_values(row, line);
    return take(line);
  });
}

/// Inserts rows; remembers the columns of tables.
class Inserter {
 public:
  explicit Inserter(const Connection& connection) : connection_(connection) {}

  Result<void> insert(const Row& row) {
    const auto known = columns_.find(row.table);
    if (known == columns_.end()) {
      ASSIGN_OR_RETURN(columns_[row.table], connection_.columns_of(row.table));
    }
    const std::set<std::string>& columns = columns_[row.table];
    std::string names;
    std::string places;
    std::vector<const CellValue*> values;
    for (const auto& [name, value] : row.cells) {
      if (columns.contains(name)) {
        values.push_back(&value);
        names += (names.empty() ? "" : ",") + quoted_name(name);
        places += (places.empty() ? "?" : ",?") + std::to_string(values.size());
      }
    }
    if (values.empty()) {
      return {};
    }
    const std::string verb = row.table == kProject ? "INSERT OR IGNORE INTO " : "INSERT INTO ";
    return run(verb + quoted_name(row.table) + "(" + names + ") VALUES(" + places + ")", values);
  }

 private:
  Result<void> run(const std::string& sql, const std::vector<const CellValue*>& values) {
    auto prepared = statements_.find(sql);
    if (prepared == statements_.end()) {
      ASSIGN_OR_RETURN(auto made, connection_.prepare(sql));
      prepared = statements_.emplace(sql, std::move(made)).first;
    }
    Statement& statement = prepared->second;
    for (std::size_t i = 0; i < values.size(); ++i) {
      bind(statement, static_cast<int>(i) + 1, *values[i]);
    }
    RETURN_IF_ERROR(statement.step());
    statement.reset();
    return {};
  }

  const Connection& connection_;
  std::map<std::string, std::set<std::string>> columns_;
  std::map<std::string, Statement> statements_;
};

/// More than one user message may wait for an answer.
constexpr std::int64_t kMostLookedAt = 100;

}  // namespace

Result<Row> parse_row(std::string_view line) {
  json::Document document;
  const bool is_json = json::parse(line, document);
  const auto table = is_json ? json::string_member(document, "table") : std::nullopt;
  const auto* columns = is_json ? json::member(document, "columns") : nullptr;
  const auto* values = is_json ? json::member(document, "values") : nullptr;
  if (!table || columns == nullptr || values == nullptr || !columns->IsArray() || !values->IsArray() ||
      columns->Size() != values->Size()) {
    return no_row();
  }
  Row row;
  row.table = *table;
  for (rapidjson::SizeType i = 0; i < columns->Size(); ++i) {
    if (!(*columns)[i].IsString()) {
      return no_row();
    }
    ASSIGN_OR_RETURN(auto value, value_of((*values)[i]));
    row.cells.emplace_back(json::as_string((*columns)[i]), std::move(value));
  }
  return row;
}

Result<SessionRows> SessionRows::of(const Connection& connection) {
  SessionRows rows(connection);
  RETURN_IF_ERROR(rows.find_tables());
  return rows;
}

/// From the session's own row along the foreign keys, parents before children.
Result<void> SessionRows::find_tables() {
  ASSIGN_OR_RETURN(const auto names, tables_of(*connection_));
  ASSIGN_OR_RETURN(const auto links, links_of(*connection_, names));
  const auto has = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (!has(kSession) || !has("message") || !has("part")) {
    return Error{Errc::unsupported, "the database has none of OpenCode's tables"};
  }
  tables_ = {{std::string(kSession), "id = ?1"}};
  if (has(kEventSequence)) {
    tables_.push_back({std::string(kEventSequence), "aggregate_id = ?1"});
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    for (const Link& link : links) {
      const auto is_child = [&](const Table& table) { return table.name == link.child; };
      if (link.parent == tables_[i].name && std::none_of(tables_.begin(), tables_.end(), is_child)) {
        const std::string to = quoted_name(link.to.empty() ? "id" : link.to);
        tables_.push_back({link.child, quoted_name(link.from) + " IN (SELECT " + to + " FROM " +
                                           quoted_name(link.parent) + " WHERE " + tables_[i].where + ")"});
      }
    }
  }
  return {};
}

Result<std::vector<std::string>> family_of(const Connection& connection, const std::string& session) {
  std::vector<std::string> found{session};
  std::set<std::string> known{session};
  ASSIGN_OR_RETURN(auto own, connection.query("SELECT 1 FROM session WHERE id = ?1", session));
  ASSIGN_OR_RETURN(const bool is_there, own.step());
  if (!is_there) {
    return Error{Errc::not_found, "the session is no longer in the database"};
  }
  ASSIGN_OR_RETURN(const auto columns, connection.columns_of(kSession));
  if (!columns.contains("parent_id")) {
    return found;
  }
  ASSIGN_OR_RETURN(auto children, connection.prepare("SELECT id FROM session WHERE parent_id = ?1 ORDER BY id"));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string parent = found[i];
    children.bind(1, parent);
    RETURN_IF_ERROR(children.each_row([&](const Statement& row) {
      if (std::string id(row.text(0)); known.insert(id).second) {
        found.push_back(std::move(id));
      }
    }));
  }
  return found;
}

Result<RowsSum> SessionRows::read(const std::vector<std::string>& sessions, const Take& take) const {
  RowsSum sum;
  for (const std::string& session : sessions) {
    RETURN_IF_ERROR(read_rows(*connection_, std::string(kProject),
                              "id = (SELECT project_id FROM session WHERE id = ?1)", session, take));
    for (const Table& table : tables_) {
      RETURN_IF_ERROR(
          read_rows(*connection_, table.name, table.where, session, [&](std::string_view line) -> Result<void> {
            add(sum, line);
            return take(line);
          }));
    }
  }
  return sum;
}

Result<void> SessionRows::remove(const std::vector<std::string>& sessions, std::int64_t rows) const {
  const std::int64_t before = connection_->rows_changed();
  for (auto session = sessions.rbegin(); session != sessions.rend(); ++session) {
    for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {  // cheaper than by foreign keys, row by row
      RETURN_IF_ERROR(
          connection_->execute("DELETE FROM " + quoted_name(table->name) + " WHERE " + table->where, *session));
    }
  }
  if (connection_->rows_changed() - before != rows) {
    return Error{Errc::unsupported, "the database would also remove rows that arborfs does not know"};
  }
  return {};
}

Result<void> SessionRows::insert(std::string_view lines) const {
  ASSIGN_OR_RETURN(auto own, connection_->prepare("SELECT 1 FROM session WHERE id = ?1"));
  for (const std::string& session : sessions_in(lines)) {
    own.bind(1, session);
    ASSIGN_OR_RETURN(const bool is_there, own.step());
    if (is_there) {
      return Error{Errc::already_exists, "the database already has the session " + session};
    }
    own.reset();
  }
  // A row may refer to a later one: in a table with two parents, or in its own table.
  RETURN_IF_ERROR(connection_->run("PRAGMA defer_foreign_keys=ON"));
  Inserter inserter(*connection_);
  return for_each_line(lines, [&](std::string_view line) -> Result<void> {
    ASSIGN_OR_RETURN(const auto row, parse_row(line));
    return inserter.insert(row);
  });
}

std::vector<std::string> sessions_in(std::string_view lines) {
  std::vector<std::string> ids;
  static_cast<void>(for_each_line(lines, [&](std::string_view line) -> Result<void> {
    if (is_of_table(line, kSession)) {
      ASSIGN_OR_RETURN(const auto row, parse_row(line));
      for (const auto& [column, value] : row.cells) {
        if (const auto* id = std::get_if<std::string>(&value); column == "id" && id != nullptr) {
          ids.push_back(*id);
        }
      }
    }
    return {};
  }));
  return ids;
}

RowsSum sum_of(std::string_view lines) {
  RowsSum sum;
  static_cast<void>(for_each_line(lines, [&](std::string_view line) -> Result<void> {
    if (!is_of_table(line, kProject)) {
      add(sum, line);
    }
    return {};
  }));
  return sum;
}

Result<void> insert_message(const Connection& database, const std::string& session, const MessageRecords& message) {
  RETURN_IF_ERROR(database.execute(
      "INSERT INTO message(id, session_id, data, time_created, time_updated) VALUES(?1, ?2, ?3, ?4, ?4)",
      message.info.id, session, "{" + message.info.members + "}", message.time_ms));
  for (const NewRecord& part : message.parts) {
    RETURN_IF_ERROR(
        database.execute("INSERT INTO part(id, message_id, session_id, data, time_created, time_updated) "
                         "VALUES(?1, ?2, ?3, ?4, ?5, ?5)",
                         part.id, message.info.id, session, "{" + part.members + "}", message.time_ms));
  }
  return {};
}

Result<LastMessage> last_message(const Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(
      auto rows,
      database.query("SELECT id, time_created, CASE WHEN json_valid(data) THEN json_extract(data, '$.role') = "
                     "'assistant' AND json_extract(data, '$.time.completed') IS NULL AND json_extract(data, "
                     "'$.error') IS NULL END, max(time_updated, (SELECT coalesce(max(time_updated), 0) FROM part "
                     "WHERE message_id = message.id)) FROM message WHERE session_id = ?1 "
                     "ORDER BY time_created DESC, id DESC LIMIT ?2",
                     session, kMostLookedAt));
  LastMessage last;
  RETURN_IF_ERROR(rows.each_row([&](const Statement& row) {
    if (last.id.empty()) {
      last.id = row.text(0);
      last.created_ms = row.integer(1);
    }
    const bool is_recent = row.integer(3) > now_ms() - kAnswerAbandonedMs;
    last.is_being_written = last.is_being_written || (row.integer(2) != 0 && is_recent);
  }));
  return last;
}

Result<void> check_quiet(const Connection& connection, const std::vector<std::string>& sessions) {
  for (const std::string& session : sessions) {
    ASSIGN_OR_RETURN(const auto last, last_message(connection, session));
    if (last.is_being_written) {
      return Error{Errc::busy, "OpenCode is answering in the session " + session + "; wait for the end of the answer"};
    }
  }
  return {};
}

}  // namespace arborfs::opencode
