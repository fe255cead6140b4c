// Changes of sessions in OpenCode's database, each in one short transaction, without events (opencode/FORMAT.md G).
// The database's own lock makes writers take turns. Threads: any.
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/opencode/belongings.h"
#include "core/formats/opencode/new_message.h"
#include "core/formats/opencode/session_rows.h"
#include "core/formats/opencode/sqlite_rows.h"
#include "core/formats/opencode/writer.h"
#include "core/sqlite/database.h"

namespace arborfs::opencode {
namespace {

using sqlite::Connection;
using sqlite::Transaction;

Transaction::Sync sync_of(const WriteSettings& settings) {
  return settings.durability == Durability::synced ? Transaction::Sync::full : Transaction::Sync::left_to_kernel;
}

/// Fails unless the session exists and all its messages are in effect.
Result<void> check_nothing_undone(const Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(auto row, database.query("SELECT revert FROM session WHERE id = ?1", session));
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  if (!has_row) {
    return session_gone();
  }
  return row.is_null(0) ? Result<void>() : Result<void>(messages_undone());
}

/// The last message with the agent and the model of the next one; "" if there is none.
Result<std::string> message_with_model(const Connection& database, const std::string& session) {
  ASSIGN_OR_RETURN(auto row, database.query("SELECT data FROM message WHERE session_id = ?1 AND CASE WHEN "
                                            "json_valid(data) THEN json_extract(data, '$.role') = 'user' AND "
                                            "json_extract(data, '$.model') IS NOT NULL END "
                                            "ORDER BY time_created DESC, id DESC",
                                            session));
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row || names_model(row.text(0))) {
      return has_row ? std::string(row.text(0)) : std::string();
    }
  }
}

/// The last message of the session, if `wanted` may follow it.
Result<LastMessage> message_before(const Connection& database, const std::string& session, const NewMessage& wanted) {
  RETURN_IF_ERROR(check_nothing_undone(database, session));
  ASSIGN_OR_RETURN(auto last, last_message(database, session));
  RETURN_IF_ERROR(check_follows(last, wanted));
  return last;
}

/// Calls `look` with a connection that only reads, and the sessions that are removed with this one.
template <class Look>
Result<void> look_at_family(const arborfs::Store& store, const LogPlace& place, const Look& look) {
  const sqlite::Database database(store.path_of(place), tables_read(), store.disk());
  return database.read([&](const Connection& connection) -> Result<void> {
    ASSIGN_OR_RETURN(const auto sessions, family_of(connection, std::string(place.stem())));
    return look(connection, sessions);
  });
}

/// With what it changed.
Result<void> commit(const Transaction& change, const std::string& database, std::vector<Effect>& effects) {
  const std::string rows = change.changeset();
  RETURN_IF_ERROR(change.commit());
  if (!rows.empty()) {
    effects.push_back(effect_of_rows(database, rows));
  }
  return {};
}

class DatabaseWrites final : public SessionWrites {
 public:
  /// `settings` outlive this object.
  explicit DatabaseWrites(const WriteSettings& settings) : settings_(settings) {}

  Result<AppendResult> add(const arborfs::Store& store, const LogPlace& place, const NewMessage& wanted,
                           std::vector<Effect>& effects) override {
    const std::string id(place.stem());
    ASSIGN_OR_RETURN(auto change, Transaction::begin(store.path_of(place), sync_of(settings_)));
    const Connection& database = change.connection();
    ASSIGN_OR_RETURN(const auto last, message_before(database, id, wanted));
    ASSIGN_OR_RETURN(const auto before, message_with_model(database, id));
    const MessageRecords message = records_of(wanted, time_behind(last), before);
    change.record();
    RETURN_IF_ERROR(insert_message(database, id, message));
    if (!wanted.is_summary) {
      RETURN_IF_ERROR(database.execute("UPDATE session SET time_updated = max(time_updated, ?2) WHERE id = ?1", id,
                                       message.time_ms));
    }
    RETURN_IF_ERROR(commit(change, store.path_of(place), effects));
    return AppendResult{message.info.id, last.id};
  }

  Result<void> check_add(const arborfs::Store& store, const LogPlace& place, const NewMessage& wanted) override {
    const std::string id(place.stem());
    const sqlite::Database database(store.path_of(place), tables_read(), store.disk());
    return database.read([&](const Connection& connection) -> Result<void> {
      RETURN_IF_ERROR(message_before(connection, id, wanted));
      return {};
    });
  }

  /// A message changes a page or two of each table and index that it is in, and some more when pages are split: seldom
  /// more than twenty. The -wal takes them whole, and the -shm 32 KiB.
  [[nodiscard]] RoomWanted room_for(const arborfs::Store& store, const LogPlace& place,
                                    std::uint64_t bytes) const override {
    constexpr std::uint64_t kPages = 32;
    constexpr std::uint64_t kPage = 4 << 10;  // with which OpenCode creates its database
    constexpr std::uint64_t kSharedMemory = 32 << 10;
    const std::string path = store.path_of(place);
    return {bytes + kPages * kPage + kSharedMemory + RoomWanted::kBeside, 3, path.substr(path.rfind('/') + 1) + "-wal"};
  }

  Result<std::string> set_title(const arborfs::Store& store, const LogPlace& place, const std::string& wanted,
                                bool is_automatic, std::vector<Effect>& effects) override {
    const std::string id(place.stem());
    ASSIGN_OR_RETURN(auto change, Transaction::begin(store.path_of(place), sync_of(settings_)));
    const Connection& database = change.connection();
    ASSIGN_OR_RETURN(auto row, database.query("SELECT title FROM session WHERE id = ?1", id));
    ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row) {
      return session_gone();
    }
    std::string present(row.text(0));
    row.reset();
    if (present == wanted || (is_automatic && !is_default_title(present))) {
      return present;
    }
    change.record();
    RETURN_IF_ERROR(database.execute(
        "UPDATE session SET title = ?2, time_updated = max(time_updated, ?3) WHERE id = ?1", id, wanted, now_ms()));
    RETURN_IF_ERROR(commit(change, store.path_of(place), effects));
    return wanted;
  }

  Result<Trashed> remove(const arborfs::Store& store, const LogPlace& place, const std::string& title,
                         bool force) override {
    Transfer transfer(settings_.trash, store.disk());
    return transfer.take(store, place, title, belongings_in_database(store, place, {sync_of(settings_), force}));
  }

  Result<void> check_quiet(const arborfs::Store& store, const LogPlace& place) override {
    return look_at_family(store, place, opencode::check_quiet);
  }

  /// The project has its folder too, unless it is the one for all others (G5).
  Result<void> describe(const arborfs::Store& store, const FolderMove& move, Relocation& wanted) override {
    const std::string path = store.path_of(wanted.from);
    const std::string session(wanted.from.stem());
    const sqlite::Database database(path, tables_read(), store.disk());
    return database.read([&](const Connection& connection) -> Result<void> {
      ASSIGN_OR_RETURN(auto row, connection.query("SELECT project.id, project.worktree FROM session JOIN project ON "
                                                  "project.id = session.project_id WHERE session.id = ?1",
                                                  session));
      ASSIGN_OR_RETURN(const bool has_project, row.step());
      const std::string worktree(has_project ? row.text(1) : "");
      wanted.rows.clear();
      if (const auto now = move.now(worktree)) {
        wanted.rows.push_back({path, "project", "id", std::string(row.text(0)), "worktree", worktree, *now});
      }
      wanted.rows.push_back(
          {path, "session", "id", session, "directory", wanted.cwd_before, wanted.cwd_after});
      return {};
    });
  }

  Result<void> under_lock(const arborfs::Store& /*store*/, const std::function<Result<void>()>& work) override {
    return work();  // a transaction
  }

  Result<void> each_message(const arborfs::Store& store, const LogPlace& place, const Take& take) override {
    return look_at_family(store, place, [&](const Connection& database, const auto& sessions) -> Result<void> {
      for (const std::string& session : sessions) {
        ASSIGN_OR_RETURN(auto rows, database.query("SELECT data FROM message WHERE session_id = ?1", session));
        RETURN_IF_ERROR(rows.each_row([&](const sqlite::Statement& row) { take(session, row.text(0)); }));
      }
      return {};
    });
  }

 private:
  const WriteSettings& settings_;
};

}  // namespace

std::unique_ptr<SessionWrites> make_database_writes(const WriteSettings& settings) {
  return std::make_unique<DatabaseWrites>(settings);
}

}  // namespace arborfs::opencode
