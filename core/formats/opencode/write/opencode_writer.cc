#include "core/formats/opencode/write/opencode_writer.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/opencode/sqlite_rows.h"
#include "core/formats/opencode/write/last_message.h"
#include "core/formats/opencode/write/new_ids.h"
#include "core/formats/opencode/write/opencode_trash.h"
#include "core/formats/opencode/write/session_rows.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/sqlite/database.h"
#include "core/sqlite/transaction.h"

namespace arborfs {
namespace {

using opencode::last_message;
using opencode::new_id;
using sqlite::Connection;
using sqlite::Transaction;

constexpr std::size_t kLongestTitle = 64 << 10;

Transaction::Sync sync_of(const WriteSettings& settings) {
  return settings.durability == Durability::synced ? Transaction::Sync::full : Transaction::Sync::left_to_kernel;
}

Result<Transaction> begin(const SessionPtr& session, const WriteSettings& settings) {
  return Transaction::begin(session->store().path_of(session->place()), sync_of(settings));
}

/// Fails unless there is the session and all its messages are in force.
Result<void> check_nothing_undone(const Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(auto row, database.prepare("SELECT revert FROM session WHERE id = ?1"));
  row.bind(1, session);
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  if (!has_row) {
    return Error{Errc::not_found, "the session is no longer in the database"};
  }
  if (!row.is_null(0)) {
    return Error{Errc::invalid_argument,
                 "the last messages of the session are undone, and OpenCode would remove them; continue or redo there"};
  }
  return {};
}

/// The data of a message of the user with this text: for the agent and the model of the one before it.
Result<std::string> data_of_message(const Connection& database, const std::string& session, std::int64_t created_ms) {
  ASSIGN_OR_RETURN(auto row, database.prepare("SELECT data FROM message WHERE session_id = ?1 AND CASE WHEN "
                                              "json_valid(data) THEN json_extract(data, '$.role') = 'user' AND "
                                              "json_extract(data, '$.model') IS NOT NULL END "
                                              "ORDER BY time_created DESC, id DESC LIMIT 1"));
  row.bind(1, session);
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  json::Document before;
  if (!has_row || !json::parse(row.text(0), before)) {
    return Error{Errc::invalid_argument,
                 "the user has sent no message in this session yet, so it is not known to which model this one goes"};
  }
  const json::Value* model = json::member(before, "model");
  const std::string agent(json::string_member(before, "agent").value_or("build"));
  return R"({"role":"user","time":{"created":)" + std::to_string(created_ms) + R"(},"agent":)" +
         json::stringify_string(agent) + R"(,"model":)" + json::stringify(*model) + "}";
}

Result<void> run(const Connection& database, std::string_view sql, std::initializer_list<std::string_view> texts,
                 std::int64_t time_ms) {
  ASSIGN_OR_RETURN(auto statement, database.prepare(sql));
  int parameter = 0;
  for (const std::string_view text : texts) {
    statement.bind(++parameter, text);
  }
  statement.bind(parameter + 1, time_ms);
  RETURN_IF_ERROR(statement.step());
  return {};
}

/// Adds the message and its only part. Returns the message's id.
Result<std::string> insert_message(const Connection& database, const std::string& session, const std::string& text,
                                   std::int64_t created_ms) {
  ASSIGN_OR_RETURN(const auto data, data_of_message(database, session, created_ms));
  const std::string message = new_id("msg", created_ms, 1);
  RETURN_IF_ERROR(
      run(database, "INSERT INTO message(id, session_id, data, time_created, time_updated) VALUES(?1, ?2, ?3, ?4, ?4)",
          {message, session, data}, created_ms));
  RETURN_IF_ERROR(run(database,
                      "INSERT INTO part(id, message_id, session_id, data, time_created, time_updated) "
                      "VALUES(?1, ?2, ?3, ?4, ?5, ?5)",
                      {new_id("prt", created_ms, 2), message, session,
                       R"({"type":"text","text":)" + json::stringify_string(text) + "}"},
                      created_ms));
  RETURN_IF_ERROR(
      run(database, "UPDATE session SET time_updated = max(time_updated, ?2) WHERE id = ?1", {session}, created_ms));
  return message;
}

Error refuse_json() {
  return {Errc::invalid_argument, "sessions of OpenCode take the text of a message, not JSON"};
}

Result<std::string> clean_title(std::string_view title) {
  if (!json::is_valid_utf8(title)) {
    return Error{Errc::not_utf8, "a title must be UTF-8"};
  }
  if (title.size() > kLongestTitle) {
    return Error{Errc::too_large, "a title may have at most 64 KiB"};
  }
  std::string clean(title);
  std::replace_if(
      clean.begin(), clean.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  clean.erase(0, clean.find_first_not_of(' '));
  clean.erase(clean.find_last_not_of(' ') + 1);
  if (clean.empty()) {
    return Error{Errc::invalid_argument, "a title cannot be empty"};
  }
  return clean;
}

/// OpenCode replaces only such a title by one of its own (opencode/FORMAT.md G3).
bool is_default(std::string_view title) {
  return title.empty() || title.starts_with("New session - ") || title.starts_with("Child session - ");
}

/// Makes a change that has just been committed visible. Its errors never invite the caller to write again.
Result<void> show(Session& session, Depth depth) {
  session.forget_look();
  const auto read = session.refresh(depth);
  session.note_own_write();
  if (!read) {
    return Error{Errc::io, "it was written, but the session cannot be read back: " + read.error().message};
  }
  return {};
}

}  // namespace

Result<void> OpenCodeWriter::check_json(const SessionPtr& /*session*/, std::string_view /*text*/) {
  return refuse_json();
}

Result<AppendResult> OpenCodeWriter::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check(session));
  if (text.is_json) {
    return refuse_json();
  }
  if (!json::is_valid_utf8(text.text)) {
    return Error{Errc::not_utf8, "the text is not UTF-8"};
  }
  if (text.text.size() > kMaxCommandBytes / 2) {
    return Error{Errc::too_large, "a message may have at most 32 MiB"};
  }
  text.text.resize(text.text.size() - (text.text.ends_with('\n') ? 1 : 0));
  if (text.text.empty()) {
    return Error{Errc::invalid_argument, "the message is empty"};
  }
  const std::string id = session->stem();
  AppendResult result;
  {
    ASSIGN_OR_RETURN(const auto change, begin(session, settings()));
    RETURN_IF_ERROR(check_nothing_undone(change.connection(), id));
    ASSIGN_OR_RETURN(const auto last, last_message(change.connection(), id));
    if (!text.at.empty() && text.at != last.id) {
      return Error{Errc::stale, "that entry is not the last message, and sessions of OpenCode have no branches"};
    }
    if (last.is_being_written && !settings().write_live) {
      return Error{Errc::busy, "OpenCode is answering in this session; wait for the end of the answer"};
    }
    const std::int64_t created_ms = std::max(now_ms(), last.created_ms + 1);
    ASSIGN_OR_RETURN(auto made, insert_message(change.connection(), id, text.text, created_ms));
    RETURN_IF_ERROR(change.commit());
    result = {std::move(made), last.id};
  }
  RETURN_IF_ERROR(show(*session, Depth::index));
  return result;
}

Result<std::string> OpenCodeWriter::set_title(const SessionPtr& session, std::string_view title, bool /*force*/,
                                              std::string_view source) {
  RETURN_IF_ERROR(check(session));
  ASSIGN_OR_RETURN(auto wanted, clean_title(title));
  const std::string id = session->stem();
  {
    ASSIGN_OR_RETURN(const auto change, begin(session, settings()));
    ASSIGN_OR_RETURN(auto row, change.connection().prepare("SELECT title FROM session WHERE id = ?1"));
    row.bind(1, id);
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row) {
      return Error{Errc::not_found, "the session is no longer in the database"};
    }
    const std::string present(row.text(0));
    row.reset();
    if (present == wanted || (source == "auto" && !is_default(present))) {
      return present;
    }
    RETURN_IF_ERROR(run(change.connection(),
                        "UPDATE session SET title = ?2, time_updated = max(time_updated, ?3) WHERE id = ?1",
                        {id, wanted}, now_ms()));
    RETURN_IF_ERROR(change.commit());
  }
  RETURN_IF_ERROR(show(*session, Depth::head));
  return wanted;
}

Result<void> OpenCodeWriter::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check(session));
  OpenCodeTrash trash(settings().trash, session->store().disk());
  const LogPlace place = session->place();
  const auto taken = trash.take(session->store(), place, session->head().header.title,
                                {sync_of(settings()), force || settings().write_live});
  catalog().rescan_folder(place.in());
  return taken ? Result<void>() : Result<void>(taken.error());
}

Result<void> OpenCodeWriter::check_remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(Writer::check_remove(session, force));
  if (force || settings().write_live) {
    return {};
  }
  const sqlite::Database database(session->store().path_of(session->place()), opencode::tables_read(),
                                  session->store().disk());
  return database.read([&](const Connection& connection) -> Result<void> {
    ASSIGN_OR_RETURN(const auto sessions, opencode::family_of(connection, session->stem()));
    return opencode::check_quiet(connection, sessions);
  });
}

}  // namespace arborfs
