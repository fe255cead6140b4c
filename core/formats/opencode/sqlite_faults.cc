#include "core/formats/opencode/sqlite_faults.h"

#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/sqlite_rows.h"
#include "core/sqlite/integrity.h"

namespace arborfs::opencode {
namespace {

/// True, in SQL, for data that is not a JSON object. SQLite's JSON functions fail for text that is not JSON.
constexpr std::string_view kMalformed = "CASE WHEN json_valid(data) THEN json_type(data) <> 'object' ELSE 1 END";

/// Calls `take` with the id in each row.
template <class Take>
Result<void> each_id(const sqlite::Connection& connection, const std::string& sql, const std::string& session,
                     const Take& take) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare(sql));
  rows.bind(1, session);
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      return {};
    }
    take(std::string(rows.text(0)));
  }
}

Result<void> find_in_rows(const sqlite::Connection& connection, const std::string& session,
                          std::vector<Finding>& found) {
  const std::string malformed(kMalformed);
  const auto add_malformed = [&](const std::string& what) {
    return [&found, what](const std::string& id) {
      found.push_back({"malformed_row", "the row of the " + what + " " + id + " is not a JSON object"});
    };
  };
  RETURN_IF_ERROR(each_id(connection, "SELECT id FROM message WHERE session_id = ?1 AND " + malformed, session,
                          add_malformed("message")));
  RETURN_IF_ERROR(
      each_id(connection,
              "SELECT id FROM part WHERE message_id IN (SELECT id FROM message WHERE session_id = ?1) AND " + malformed,
              session, add_malformed("part")));
  return each_id(connection,
                 "SELECT id FROM message WHERE session_id = ?1 AND CASE WHEN json_valid(data) THEN json_extract(data, "
                 "'$.role') = 'user' END AND NOT EXISTS (SELECT 1 FROM part WHERE message_id = message.id)",
                 session, [&](const std::string& id) {
                   found.push_back({"missing_parts", "the prompt " + id + " has no parts, so its text is unknown"});
                 });
}

}  // namespace

std::vector<Finding> faults_of_rows(const sqlite::Database& database, const std::string& session) {
  std::vector<Finding> found;
  const auto done = database.read([&](const sqlite::Connection& connection) {
    found.clear();
    return find_in_rows(connection, session, found);
  });
  if (!done) {
    found.push_back({"unreadable", "its rows cannot be examined: " + done.error().message});
  }
  return found;
}

std::vector<FileFinding> faults_of_database(const sqlite::Database& database) {
  std::vector<FileFinding> found;
  const auto known = database.read([](const sqlite::Connection& connection) -> Result<void> {
    RETURN_IF_ERROR(SqliteRows::of(connection));
    return {};
  });
  if (!known && known.error().code == Errc::unsupported) {
    found.push_back({database.path(), {"unknown_schema", known.error().message}});
  }
  for (sqlite::IntegrityFault& fault : sqlite::integrity_faults(database)) {
    found.push_back({database.path(), {fault.kind, std::move(fault.text)}});
  }
  return found;
}

}  // namespace arborfs::opencode
