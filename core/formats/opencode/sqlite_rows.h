// The queries on OpenCode's database, for any of its schemas: a column that a version lacks is null
// (opencode/FORMAT.md B2). Used within one call of Database::read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/opencode/session_archive.h"
#include "core/sqlite/connection.h"

namespace arborfs::opencode {

/// The tables that are read.
std::vector<std::string> tables_read();

class SqliteRows {
 public:
  /// Errors: unsupported if the tables are not those of OpenCode.
  static Result<SqliteRows> of(const sqlite::Connection& connection);

  /// As SessionArchive::heads.
  [[nodiscard]] Result<std::vector<SessionHead>> heads(const SessionArchive::Wants& wants) const;
  /// The one of this id. Errors: not_found.
  [[nodiscard]] Result<SessionHead> head(const std::string& id, bool wants_metadata) const;
  /// Of the session's messages, parts and todos.
  [[nodiscard]] Result<Stamp> stamp_of_content(const std::string& id) const;
  [[nodiscard]] Result<std::vector<std::string>> message_ids(const std::string& session) const;
  /// A line for each kind of the session's rows in tables of other versions, which arborfs does not show:
  /// `{"table","type","rows"}` (opencode/FORMAT.md B5). "" if there are none.
  [[nodiscard]] Result<std::string> rows_not_shown(const std::string& session) const;
  /// The sessions whose last answer has no end, and when it or its parts were written, in ms since
  /// 1970.
  [[nodiscard]] Result<std::map<std::string, std::int64_t>> unfinished_answers() const;
  /// As SessionArchive::read, for messages of this session; the id "" means rows_not_shown.
  using Take = std::function<bool(std::string_view id, std::string&& text)>;
  [[nodiscard]] Result<void> read(const std::string& session, const std::vector<std::string>& ids,
                                  const Take& take) const;

 private:
  explicit SqliteRows(const sqlite::Connection& connection) : connection_(&connection) {}
  [[nodiscard]] std::string column(const std::string& table, const std::string& name) const;
  [[nodiscard]] bool has(const std::string& table) const { return !columns_.at(table).empty(); }
  [[nodiscard]] std::string sessions_query(std::string_view where) const;
  [[nodiscard]] Result<std::map<std::string, std::string>> todos(const std::string& of) const;
  const sqlite::Connection* connection_;
  std::map<std::string, std::set<std::string>> columns_;  // by table
};

}  // namespace arborfs::opencode
