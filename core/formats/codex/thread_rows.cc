#include "core/formats/codex/thread_rows.h"

#include <memory>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/sqlite/database.h"
#include "core/store/log_writer.h"

namespace arborfs::codex {
namespace {

using sqlite::Transaction;

constexpr std::uint64_t kKnownSchema = 5;  // of state_<N>.sqlite
constexpr int kMostTries = 5;

Result<Transaction> begin_change(const std::string& home, bool sync) {
  ASSIGN_OR_RETURN(const auto path, known_database(home));
  return Transaction::begin(path, sync ? Transaction::Sync::full : Transaction::Sync::left_to_kernel);
}

Error no_row(const std::string& thread) {
  return {Errc::not_found,
          "Codex's database has no row of the thread, from which Codex takes this; run once: codex "
          "resume " +
              thread};
}

std::string name_line(const std::string& thread, const std::string& name) {
  return json::Text::object()
             .add("id", thread)
             .add("thread_name", name)
             .add("updated_at", json::iso_time(now_ms()))
             .str() +
         "\n";
}

/// Appends a line, in one write, again if another program wrote in between. The result can take it back.
Result<std::unique_ptr<LogWriter>> add_name_line(Disk& disk, const std::string& home, const std::string& line,
                                                 bool sync) {
  ASSIGN_OR_RETURN(auto dir, Dir::open_root(home));
  const auto folder = std::make_shared<const Dir>(std::move(dir));
  for (int tries = 1;; ++tries) {
    ASSIGN_OR_RETURN(auto names, open_lines(disk, folder, std::string(ThreadNames::kFile)));
    auto done = append_line(*names, line);
    if (!done && done.error().code == Errc::stale && tries < kMostTries) {
      continue;
    }
    RETURN_IF_ERROR(done);
    if (auto synced = sync ? names->sync() : Result<void>(); !synced) {
      static_cast<void>(names->undo_append());
      return synced.error();
    }
    return names;
  }
}

/// The settings of the newest thread, which a new one takes over: the list shows only what it can read of a row.
struct Settings {
  std::string sandbox = R"({"type":"disabled"})";
  std::string approval = "never";
};

Result<Settings> newest_settings(const sqlite::Connection& database) {
  Settings settings;
  ASSIGN_OR_RETURN(auto row, database.prepare("SELECT sandbox_policy, approval_mode FROM threads ORDER BY updated_at "
                                              "DESC, id DESC LIMIT 1"));
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  if (has_row) {
    settings = {std::string(row.text(0)), std::string(row.text(1))};
  }
  return settings;
}

Result<void> insert_row(const sqlite::Connection& database, const NewThread& thread) {
  ASSIGN_OR_RETURN(const auto settings, newest_settings(database));
  const std::int64_t seconds = thread.time_ms / 1000;
  ASSIGN_OR_RETURN(
      auto insert,
      database.query("INSERT INTO threads(id, rollout_path, created_at, updated_at, source, model_provider, cwd, "
                     "title, sandbox_policy, approval_mode, first_user_message, preview, history_mode, name) "
                     "VALUES(?1, ?2, ?3, ?3, 'cli', ?4, ?5, ?6, ?7, ?8, ?6, ?6, 'paginated', ?9)",
                     thread.id, thread.path, seconds, thread.model_provider, thread.cwd, thread.first_prompt,
                     settings.sandbox, settings.approval));
  if (!thread.name.empty()) {
    insert.bind(9, thread.name);
  }
  RETURN_IF_ERROR(insert.step());
  return {};
}

}  // namespace

Result<std::string> known_database(const std::string& home) {
  const DatabaseFile newest = newest_database(home);
  if (newest.name.empty()) {
    return Error{Errc::not_found, "Codex has no database " + home + "/state_5.sqlite; start Codex once"};
  }
  if (newest.version != kKnownSchema) {
    return Error{Errc::unsupported, "this version of arborfs does not know the schema of Codex's database " +
                                        newest.name + " and does not change it; use Codex itself for this"};
  }
  return home + "/" + newest.name;
}

/// The line is written while the change of the row can still be undone: both are done or neither is.
Result<void> set_name(const ThreadStore& store, const std::string& thread, const ThreadNow& now,
                      const std::string& name, bool sync) {
  const std::string& home = store.paths().agent_dir;
  const bool needs_row = now.kind == RolloutKind::paginated;
  std::optional<Transaction> change;
  if (auto begun = begin_change(home, sync); begun) {
    change.emplace(*std::move(begun));
    const sqlite::Connection& database = change->connection();
    RETURN_IF_ERROR(database.execute("UPDATE threads SET name = ?2 WHERE id = ?1", thread, name));
    RETURN_IF_ERROR(database.rows_changed() > 0 || !needs_row ? Result<void>() : Result<void>(no_row(thread)));
  } else if (needs_row || (begun.error().code != Errc::not_found && begun.error().code != Errc::unsupported)) {
    return begun.error();
  }
  ASSIGN_OR_RETURN(const auto line, add_name_line(store.disk(), home, name_line(thread, name), sync));
  auto done = change ? change->commit() : Result<void>();
  if (!done && change->is_surely_undone()) {
    static_cast<void>(line->undo_append());
  }
  store.forget_rows();
  return done;
}

Result<void> add_thread(const ThreadStore& store, const NewThread& thread, bool sync) {
  const std::string& home = store.paths().agent_dir;
  const auto insert = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(const auto change, begin_change(home, sync));
    RETURN_IF_ERROR(insert_row(change.connection(), thread));
    return change.commit();
  };
  const auto done = insert();
  RETURN_IF_ERROR(
      done || done.error().code == Errc::not_found || done.error().code == Errc::unsupported ? Result<void>() : done);
  store.forget_rows();
  if (!thread.name.empty()) {
    RETURN_IF_ERROR(add_name_line(store.disk(), home, name_line(thread.id, thread.name), sync));
  }
  return {};
}

Result<void> check_path(const ThreadStore& store, const std::string& thread, const ThreadNow& now) {
  RETURN_IF_ERROR(known_database(store.paths().agent_dir));
  return now.row.is_known ? Result<void>() : Result<void>(no_row(thread));
}

Result<void> set_path(const ThreadStore& store, const std::string& thread, const std::string& path, bool sync) {
  ASSIGN_OR_RETURN(const auto change, begin_change(store.paths().agent_dir, sync));
  RETURN_IF_ERROR(change.connection().execute("UPDATE threads SET rollout_path = ?2 WHERE id = ?1", thread, path));
  RETURN_IF_ERROR(change.connection().rows_changed() > 0 ? Result<void>() : Result<void>(no_row(thread)));
  auto done = change.commit();
  store.forget_rows();
  return done;
}

}  // namespace arborfs::codex
