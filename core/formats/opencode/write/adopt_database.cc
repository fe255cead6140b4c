#include "core/formats/opencode/write/adopt_database.h"

#include <initializer_list>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/result_macros.h"

namespace arborfs::opencode {
namespace {

using sqlite::Connection;
using Bound = std::variant<std::string_view, std::int64_t>;

Result<void> execute(const Connection& database, std::string_view sql, std::initializer_list<Bound> values) {
  ASSIGN_OR_RETURN(auto statement, database.prepare(sql));
  int parameter = 0;
  for (const Bound& value : values) {
    ++parameter;
    std::visit([&](const auto& bound) { statement.bind(parameter, bound); }, value);
  }
  RETURN_IF_ERROR(statement.step());
  return {};
}

/// The first column of the first row; "" if there is none.
Result<std::string> first_text(const Connection& database, std::string_view sql, std::string_view parameter) {
  ASSIGN_OR_RETURN(auto statement, database.prepare(sql));
  statement.bind(1, parameter);
  ASSIGN_OR_RETURN(const bool has_row, statement.step());
  return has_row ? std::string(statement.text(0)) : std::string();
}

/// The version of the program that used the store last.
Result<std::string> last_version(const Connection& database) {
  ASSIGN_OR_RETURN(auto version,
                   first_text(database, "SELECT version FROM session ORDER BY time_updated DESC, id LIMIT 1", ""));
  return version.empty() ? std::string(kUnknownVersion) : std::move(version);
}

/// The project of a working directory: the one with the longest folder above it, else the one for all others, which is
/// created if it is missing (opencode/FORMAT.md G5).
Result<std::string> project_of(const Connection& database, const std::string& cwd, std::int64_t now_ms) {
  ASSIGN_OR_RETURN(auto found, first_text(database,
                                          "SELECT id FROM project WHERE id <> 'global' AND (worktree = ?1 OR "
                                          "substr(?1, 1, length(worktree) + 1) = worktree || '/') "
                                          "ORDER BY length(worktree) DESC, id LIMIT 1",
                                          cwd));
  if (!found.empty()) {
    return found;
  }
  RETURN_IF_ERROR(execute(database,
                          "INSERT OR IGNORE INTO project(id, worktree, time_created, time_updated, sandboxes) "
                          "VALUES('global', '/', ?1, ?1, '[]')",
                          {now_ms}));
  return std::string("global");
}

Result<void> insert_message(const Connection& database, const std::string& session, const AdoptedMessage& message) {
  const std::string info = "{" + message.info.members + "}";
  RETURN_IF_ERROR(execute(
      database, "INSERT INTO message(id, session_id, data, time_created, time_updated) VALUES(?1, ?2, ?3, ?4, ?4)",
      {message.info.id, session, info, message.time_ms}));
  for (const AdoptedObject& part : message.parts) {
    const std::string data = "{" + part.members + "}";
    RETURN_IF_ERROR(execute(database,
                            "INSERT INTO part(id, message_id, session_id, data, time_created, time_updated) "
                            "VALUES(?1, ?2, ?3, ?4, ?5, ?5)",
                            {part.id, message.info.id, session, data, message.time_ms}));
  }
  return {};
}

}  // namespace

Result<std::string> adopt_in_database(const std::string& database, sqlite::Transaction::Sync sync,
                                      const Conversation& conversation, AsText& counts) {
  ASSIGN_OR_RETURN(const auto change, sqlite::Transaction::begin(database, sync));
  const Connection& connection = change.connection();
  ASSIGN_OR_RETURN(const auto version, last_version(connection));
  const AdoptedSession session = adopted_session(conversation, counts);
  ASSIGN_OR_RETURN(const auto project, project_of(connection, conversation.cwd, session.created_ms));
  RETURN_IF_ERROR(
      execute(connection,
              "INSERT INTO session(id, project_id, slug, directory, title, version, time_created, "
              "time_updated) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
              {session.id, project, session.slug, conversation.cwd, session.title, version, session.created_ms}));
  for (const AdoptedMessage& message : session.messages) {
    RETURN_IF_ERROR(insert_message(connection, session.id, message));
  }
  RETURN_IF_ERROR(change.commit());
  return session.id;
}

}  // namespace arborfs::opencode
