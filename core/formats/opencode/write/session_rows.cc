#include "core/formats/opencode/write/session_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/opencode/write/row_text.h"

namespace arborfs::opencode {
namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr std::string_view kSession = "session";
constexpr std::string_view kProject = "project";
constexpr std::string_view kEventSequence = "event_sequence";

std::string quoted(std::string_view name) {
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
  ASSIGN_OR_RETURN(auto row, connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"));
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row) {
      return names;
    }
    names.emplace_back(row.text(0));
  }
}

Result<std::vector<Link>> links_of(const Connection& connection, const std::vector<std::string>& tables) {
  std::vector<Link> links;
  for (const std::string& table : tables) {
    ASSIGN_OR_RETURN(auto row, connection.prepare("PRAGMA foreign_key_list(" + quoted(table) + ")"));
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_row, row.step());
      if (!has_row) {
        break;
      }
      if (row.text(6) == "CASCADE") {
        links.push_back({table, std::string(row.text(3)), std::string(row.text(2)), std::string(row.text(4))});
      }
    }
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
  ASSIGN_OR_RETURN(auto row, connection.prepare("SELECT * FROM " + quoted(table) + " WHERE " + where));
  row.bind(1, session);
  const std::string begin = line_begin(table, row);
  std::string line;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row) {
      return {};
    }
    line = begin;
    append_values(row, line);
    RETURN_IF_ERROR(take(line));
  }
}

Result<void> remove_rows(const Connection& connection, const std::string& table, const std::string& where,
                         std::string_view session) {
  ASSIGN_OR_RETURN(auto row, connection.prepare("DELETE FROM " + quoted(table) + " WHERE " + where));
  row.bind(1, session);
  RETURN_IF_ERROR(row.step());
  return {};
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
        names += (names.empty() ? "" : ",") + quoted(name);
        places += (places.empty() ? "?" : ",?") + std::to_string(values.size());
      }
    }
    if (values.empty()) {
      return {};
    }
    const std::string verb = row.table == kProject ? "INSERT OR IGNORE INTO " : "INSERT INTO ";
    return run(verb + quoted(row.table) + "(" + names + ") VALUES(" + places + ")", values);
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

}  // namespace

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
        const std::string to = quoted(link.to.empty() ? "id" : link.to);
        tables_.push_back({link.child, quoted(link.from) + " IN (SELECT " + to + " FROM " + quoted(link.parent) +
                                           " WHERE " + tables_[i].where + ")"});
      }
    }
  }
  return {};
}

Result<std::vector<std::string>> family_of(const Connection& connection, const std::string& session) {
  std::vector<std::string> found{session};
  std::set<std::string> known{session};
  ASSIGN_OR_RETURN(auto own, connection.prepare("SELECT 1 FROM session WHERE id = ?1"));
  own.bind(1, session);
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
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_row, children.step());
      if (!has_row) {
        break;
      }
      if (std::string id(children.text(0)); known.insert(id).second) {
        found.push_back(std::move(id));
      }
    }
    children.reset();
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
      RETURN_IF_ERROR(remove_rows(*connection_, table->name, table->where, *session));
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

}  // namespace arborfs::opencode
