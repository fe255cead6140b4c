#include "core/formats/opencode/write/last_message.h"

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/opencode/session_archive.h"

namespace arborfs::opencode {

namespace {

/// More than one user message may wait for an answer.
constexpr int kMostLookedAt = 100;

}  // namespace

Result<LastMessage> last_message(const sqlite::Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(
      auto row,
      database.prepare("SELECT id, time_created, CASE WHEN json_valid(data) THEN json_extract(data, '$.role') = "
                       "'assistant' AND json_extract(data, '$.time.completed') IS NULL AND json_extract(data, "
                       "'$.error') IS NULL END, max(time_updated, (SELECT coalesce(max(time_updated), 0) FROM part "
                       "WHERE message_id = message.id)) FROM message WHERE session_id = ?1 "
                       "ORDER BY time_created DESC, id DESC LIMIT ?2"));
  row.bind(1, session);
  row.bind(2, std::int64_t{kMostLookedAt});
  LastMessage last;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row) {
      return last;
    }
    if (last.id.empty()) {
      last.id = row.text(0);
      last.created_ms = row.integer(1);
    }
    const bool is_recent = row.integer(3) > now_ms() - kAnswerAbandonedMs;
    last.is_being_written = last.is_being_written || (row.integer(2) != 0 && is_recent);
  }
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
