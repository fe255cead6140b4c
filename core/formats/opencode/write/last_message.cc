#include "core/formats/opencode/write/last_message.h"

#include "core/base/clock.h"
#include "core/base/result_macros.h"

namespace arborfs::opencode {

Result<LastMessage> last_message(const sqlite::Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(
      auto row,
      database.prepare("SELECT id, time_created, CASE WHEN json_valid(data) THEN json_extract(data, '$.role') = "
                       "'assistant' AND json_extract(data, '$.time.completed') IS NULL AND json_extract(data, "
                       "'$.error') IS NULL END, max(time_updated, (SELECT coalesce(max(time_updated), 0) FROM part "
                       "WHERE message_id = message.id)) FROM message WHERE session_id = ?1 "
                       "ORDER BY time_created DESC, id DESC LIMIT 1"));
  row.bind(1, session);
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  if (!has_row) {
    return LastMessage();
  }
  const bool is_recent = now_ms() - row.integer(3) < kAnswerAbandonedMs;
  return LastMessage{std::string(row.text(0)), row.integer(1), row.integer(2) != 0 && is_recent};
}

Result<void> check_quiet(const sqlite::Connection& connection, const std::vector<std::string>& sessions) {
  for (const std::string& session : sessions) {
    ASSIGN_OR_RETURN(const auto last, last_message(connection, session));
    if (last.is_being_written) {
      return Error{Errc::busy, "OpenCode is answering in the session " + session + "; wait for the end of the answer"};
    }
  }
  return {};
}

}  // namespace arborfs::opencode
