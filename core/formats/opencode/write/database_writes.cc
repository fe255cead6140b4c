#include "core/formats/opencode/write/database_writes.h"

#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/opencode/sqlite_rows.h"
#include "core/formats/opencode/write/belongings.h"
#include "core/formats/opencode/write/last_message.h"
#include "core/formats/opencode/write/new_ids.h"
#include "core/formats/opencode/write/session_rows.h"
#include "core/sqlite/database.h"
#include "core/sqlite/transaction.h"

namespace arborfs::opencode {
namespace {

using sqlite::Connection;
using sqlite::Transaction;

Transaction::Sync sync_of(const WriteSettings& settings) {
  return settings.durability == Durability::synced ? Transaction::Sync::full : Transaction::Sync::left_to_kernel;
}

/// Fails unless the session exists and all its messages are in effect.
Result<void> check_nothing_undone(const Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(auto row, database.prepare("SELECT revert FROM session WHERE id = ?1"));
  row.bind(1, session);
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  if (!has_row) {
    return session_gone();
  }
  return row.is_null(0) ? Result<void>() : Result<void>(messages_undone());
}

/// The last message with the agent and the model of the next one; "" if there is none.
Result<std::string> message_with_model(const Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(auto row, database.prepare("SELECT data FROM message WHERE session_id = ?1 AND CASE WHEN "
                                              "json_valid(data) THEN json_extract(data, '$.role') = 'user' AND "
                                              "json_extract(data, '$.model') IS NOT NULL END "
                                              "ORDER BY time_created DESC, id DESC"));
  row.bind(1, session);
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row || names_model(row.text(0))) {
      return has_row ? std::string(row.text(0)) : std::string();
    }
  }
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

/// The last message of the session, if `wanted` may follow it.
Result<LastMessage> message_before(const Connection& database, const std::string& session, const NewMessage& wanted) {
  RETURN_IF_ERROR(check_nothing_undone(database, session));
  ASSIGN_OR_RETURN(auto last, last_message(database, session));
  RETURN_IF_ERROR(check_follows(last, wanted));
  return last;
}

/// Adds the message and its only part. Returns the message's id.
Result<std::string> insert_message(const Connection& database, const std::string& session, const NewMessage& wanted,
                                   std::int64_t created_ms) {
  ASSIGN_OR_RETURN(const auto before, message_with_model(database, session));
  const std::string data = message_text(wanted, created_ms, before);
  const std::string message = new_id("msg", created_ms, 1);
  RETURN_IF_ERROR(
      run(database, "INSERT INTO message(id, session_id, data, time_created, time_updated) VALUES(?1, ?2, ?3, ?4, ?4)",
          {message, session, data}, created_ms));
  RETURN_IF_ERROR(run(database,
                      "INSERT INTO part(id, message_id, session_id, data, time_created, time_updated) "
                      "VALUES(?1, ?2, ?3, ?4, ?5, ?5)",
                      {new_id("prt", created_ms, 2), message, session, part_text(wanted, created_ms)}, created_ms));
  if (!wanted.is_summary) {
    RETURN_IF_ERROR(
        run(database, "UPDATE session SET time_updated = max(time_updated, ?2) WHERE id = ?1", {session}, created_ms));
  }
  return message;
}

/// Calls `look` with a connection that only reads, and the sessions that are removed with this one.
template <class Look>
Result<void> look_at_family(const SessionStore& store, const LogPlace& place, const Look& look) {
  const sqlite::Database database(store.path_of(place), tables_read(), store.disk());
  return database.read([&](const Connection& connection) -> Result<void> {
    ASSIGN_OR_RETURN(const auto sessions, family_of(connection, std::string(place.stem())));
    return look(connection, sessions);
  });
}

}  // namespace

Result<AppendResult> DatabaseWrites::add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) {
  const std::string id(place.stem());
  ASSIGN_OR_RETURN(const auto change, Transaction::begin(store.path_of(place), sync_of(settings_)));
  ASSIGN_OR_RETURN(const auto last, message_before(change.connection(), id, wanted));
  ASSIGN_OR_RETURN(auto made, insert_message(change.connection(), id, wanted, time_behind(last)));
  RETURN_IF_ERROR(change.commit());
  return AppendResult{std::move(made), last.id};
}

Result<void> DatabaseWrites::check_add(const SessionStore& store, const LogPlace& place, const NewMessage& wanted) {
  const std::string id(place.stem());
  const sqlite::Database database(store.path_of(place), tables_read(), store.disk());
  return database.read([&](const Connection& connection) -> Result<void> {
    RETURN_IF_ERROR(message_before(connection, id, wanted));
    return {};
  });
}

/// A message changes a page or two of each table and index that it is in, and some more when pages are split: seldom
/// more than twenty. The -wal takes them whole, and the -shm 32 KiB.
RoomWanted DatabaseWrites::room_for(const SessionStore& store, const LogPlace& place, std::uint64_t bytes) const {
  constexpr std::uint64_t kPages = 32;
  constexpr std::uint64_t kPage = 4 << 10;  // with which OpenCode creates its database
  constexpr std::uint64_t kSharedMemory = 32 << 10;
  const std::string path = store.path_of(place);
  return {bytes + kPages * kPage + kSharedMemory + RoomWanted::kBeside, 3, path.substr(path.rfind('/') + 1) + "-wal"};
}

Result<std::string> DatabaseWrites::set_title(const SessionStore& store, const LogPlace& place,
                                              const std::string& wanted, bool is_automatic) {
  const std::string id(place.stem());
  ASSIGN_OR_RETURN(const auto change, Transaction::begin(store.path_of(place), sync_of(settings_)));
  ASSIGN_OR_RETURN(auto row, change.connection().prepare("SELECT title FROM session WHERE id = ?1"));
  row.bind(1, id);
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  if (!has_row) {
    return session_gone();
  }
  std::string present(row.text(0));
  row.reset();
  if (present == wanted || (is_automatic && !is_default_title(present))) {
    return present;
  }
  RETURN_IF_ERROR(run(change.connection(),
                      "UPDATE session SET title = ?2, time_updated = max(time_updated, ?3) WHERE id = ?1", {id, wanted},
                      now_ms()));
  RETURN_IF_ERROR(change.commit());
  return wanted;
}

Result<void> DatabaseWrites::remove(const SessionStore& store, const LogPlace& place, const std::string& title,
                                    bool force) {
  Transfer transfer(settings_.trash, store.disk());
  RETURN_IF_ERROR(
      transfer.take(store, place, title, belongings_in_database(store, place, {sync_of(settings_), force})));
  return {};
}

Result<void> DatabaseWrites::check_quiet(const SessionStore& store, const LogPlace& place) {
  return look_at_family(store, place, opencode::check_quiet);
}

Result<void> DatabaseWrites::each_message(const SessionStore& store, const LogPlace& place, const Take& take) {
  return look_at_family(store, place, [&](const Connection& connection, const auto& sessions) -> Result<void> {
    ASSIGN_OR_RETURN(auto row, connection.prepare("SELECT data FROM message WHERE session_id = ?1"));
    for (const std::string& session : sessions) {
      row.bind(1, session);
      for (;;) {
        ASSIGN_OR_RETURN(const bool has_row, row.step());
        if (!has_row) {
          break;
        }
        take(session, row.text(0));
      }
      row.reset();
    }
    return {};
  });
}

}  // namespace arborfs::opencode
