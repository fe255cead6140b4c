#include "core/formats/codex/thread_rows.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/codex/new_segment.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/sqlite/database.h"
#include "core/store/log_writer.h"
#include "core/write/new_file.h"

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

/// One UPDATE of a thread's row, whose id is the first parameter.
template <class... Values>
Result<Effect> change_row(const ThreadStore& store, bool sync, const std::string& thread, std::string_view sql,
                          const Values&... values) {
  ASSIGN_OR_RETURN(auto database, known_database(store.paths().agent_dir));
  ASSIGN_OR_RETURN(auto change, begin_change(store.paths().agent_dir, sync));
  change.record();
  RETURN_IF_ERROR(change.connection().execute(sql, thread, values...));
  RETURN_IF_ERROR(change.connection().rows_changed() > 0 ? Result<void>() : Result<void>(no_row(thread)));
  Effect effect = effect_of_rows(std::move(database), change.changeset());
  auto done = change.commit();
  store.forget_rows();
  return done ? Result<Effect>(std::move(effect)) : done.error();
}

/// Where Codex puts the file of a segment.
std::string folder_of(const SegmentFile& file, bool is_archived) {
  return is_archived ? std::string(kArchive) : folder_of_day(file.name.time);
}

/// Moves the files of a thread to the archive, or back.
class Moves {
 public:
  Moves(Disk& disk, const std::string& home, bool sync) : disk_(disk), home_(home), sync_(sync) {}

  /// Leaves those that are there already, so that a move which was interrupted is completed.
  Result<void> make(const std::vector<SegmentFile>& files, bool to_archive) {
    for (const SegmentFile& file : files) {
      if (is_archived(file) == to_archive) {
        continue;
      }
      ASSIGN_OR_RETURN(auto from, open_below(home_, file.folder));
      ASSIGN_OR_RETURN(auto to, make_folder(disk_, home_, folder_of(file, to_archive), sync_));
      RETURN_IF_ERROR(disk_.rename(from, file.file, to, file.file, Disk::Existing::keep));
      moved_.push_back({std::move(from), std::move(to), file.file});
      RETURN_IF_ERROR(sync_ ? disk_.sync_folder(moved_.back().to) : Result<void>());
      RETURN_IF_ERROR(sync_ ? disk_.sync_folder(moved_.back().from) : Result<void>());
    }
    return {};
  }
  /// As far as the disk allows.
  void undo() {
    for (const Move& move : moved_) {
      static_cast<void>(disk_.rename(move.to, move.name, move.from, move.name, Disk::Existing::keep));
    }
  }

 private:
  struct Move {
    Dir from;
    Dir to;
    std::string name;
  };
  Disk& disk_;
  const std::string& home_;
  const bool sync_;
  std::vector<Move> moved_;
};

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

namespace {

/// Of a line that was added to the list of names.
Effect effect_of_line(const std::string& home, const LogWriter& line) {
  return effect_of(appended_to(home + "/" + std::string(ThreadNames::kFile), line.stat(), line.appended()));
}

}  // namespace

/// The line is written while the change of the row can still be undone: both are done or neither is.
Result<std::vector<Effect>> set_name(const ThreadStore& store, const std::string& thread, const ThreadNow& now,
                                     const std::string& name, bool sync) {
  const std::string& home = store.paths().agent_dir;
  const bool needs_row = now.kind == RolloutKind::paginated;
  std::optional<Transaction> change;
  if (auto begun = begin_change(home, sync); begun) {
    change.emplace(*std::move(begun));
    const sqlite::Connection& database = change->connection();
    change->record();
    RETURN_IF_ERROR(database.execute("UPDATE threads SET name = ?2 WHERE id = ?1", thread, name));
    RETURN_IF_ERROR(database.rows_changed() > 0 || !needs_row ? Result<void>() : Result<void>(no_row(thread)));
  } else if (needs_row || (begun.error().code != Errc::not_found && begun.error().code != Errc::unsupported)) {
    return begun.error();
  }
  ASSIGN_OR_RETURN(const auto line, add_name_line(store.disk(), home, name_line(thread, name), sync));
  std::vector<Effect> effects{effect_of_line(home, *line)};
  if (const std::string rows = change ? change->changeset() : ""; !rows.empty()) {
    ASSIGN_OR_RETURN(auto path, known_database(home));
    effects.push_back(effect_of_rows(std::move(path), rows));
  }
  auto done = change ? change->commit() : Result<void>();
  if (!done && change->is_surely_undone()) {
    static_cast<void>(line->undo_append());
  }
  store.forget_rows();
  return done ? Result<std::vector<Effect>>(std::move(effects)) : done.error();
}

Result<std::vector<Effect>> add_thread(const ThreadStore& store, const NewThread& thread, bool sync) {
  const std::string& home = store.paths().agent_dir;
  std::vector<Effect> effects;
  const auto insert = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(auto database, known_database(home));
    ASSIGN_OR_RETURN(auto change, begin_change(home, sync));
    change.record();
    RETURN_IF_ERROR(insert_row(change.connection(), thread));
    effects.push_back(effect_of_rows(std::move(database), change.changeset()));
    return change.commit();
  };
  const auto done = insert();
  RETURN_IF_ERROR(
      done || done.error().code == Errc::not_found || done.error().code == Errc::unsupported ? Result<void>() : done);
  store.forget_rows();
  if (!thread.name.empty()) {
    ASSIGN_OR_RETURN(const auto line, add_name_line(store.disk(), home, name_line(thread.id, thread.name), sync));
    effects.push_back(effect_of_line(home, *line));
  }
  return effects;
}

Result<std::string> path_in_row(const ThreadStore& store, const std::string& thread) {
  RETURN_IF_ERROR(known_database(store.paths().agent_dir));
  ASSIGN_OR_RETURN(const auto looking, begin_change(store.paths().agent_dir, false));
  ASSIGN_OR_RETURN(auto row, looking.connection().query("SELECT rollout_path FROM threads WHERE id = ?1", thread));
  ASSIGN_OR_RETURN(const bool has_row, row.step());
  return has_row ? Result<std::string>(std::string(row.text(0))) : Result<std::string>(no_row(thread));
}

Result<void> check_path(const ThreadStore& store, const std::string& thread, const ThreadNow& now) {
  RETURN_IF_ERROR(known_database(store.paths().agent_dir));
  return now.row.is_known ? Result<void>() : Result<void>(no_row(thread));
}

Result<Effect> set_path(const ThreadStore& store, const std::string& thread, const std::string& path, bool sync) {
  return change_row(store, sync, thread, "UPDATE threads SET rollout_path = ?2 WHERE id = ?1", path);
}

/// A thread in another section moves to that of the pins.
Result<std::vector<Effect>> set_pinned(const ThreadStore& store, const std::string& thread, const ThreadNow& now,
                                       bool is_pinned, bool sync) {
  RETURN_IF_ERROR(check_path(store, thread, now));
  if (now.row.is_pinned == is_pinned) {
    return std::vector<Effect>();
  }
  auto done = is_pinned
                  ? change_row(store, sync, thread,
                               "UPDATE threads SET thread_section_id = (SELECT id FROM thread_sections WHERE id = ?2), "
                               "section_position = (SELECT coalesce(max(section_position), 0) + 1000000 FROM threads "
                               "WHERE thread_section_id = ?2), section_entered_at_ms = ?3 WHERE id = ?1",
                               kPinnedSection, now_ms())
                  : change_row(store, sync, thread,
                               "UPDATE threads SET thread_section_id = NULL, section_position = NULL, "
                               "section_entered_at_ms = NULL WHERE id = ?1");
  return done ? Result<std::vector<Effect>>({*std::move(done)}) : done.error();
}

Result<std::string> queue_message(const ThreadStore& store, const std::string& thread, std::string_view text,
                                  bool sync) {
  constexpr std::int64_t kMostQueued = 100;  // for one thread
  const std::string path = store.paths().agent_dir + "/queue_1.sqlite";
  if (const auto there = Dir::stat_root(path); !there) {
    return there.error().code == Errc::not_found
               ? Error{Errc::not_found, "Codex has no queue " + path + "; start Codex 0.149 or later once"}
               : there.error();
  }
  ASSIGN_OR_RETURN(auto change,
                   Transaction::begin(path, sync ? Transaction::Sync::full : Transaction::Sync::left_to_kernel));
  ASSIGN_OR_RETURN(const auto columns, change.connection().columns_of("queued_items"));
  if (columns !=
      std::set<std::string>{"id", "thread_id", "payload_json", "queue_order", "created_at_ms", "updated_at_ms"}) {
    return Error{Errc::unsupported, "this version of arborfs does not know the schema of " + path +
                                        " and does not change it; use: codex queue --thread " + thread};
  }
  const std::int64_t time_ms = now_ms();
  ASSIGN_OR_RETURN(auto id, new_uuid_of_time(time_ms));
  ASSIGN_OR_RETURN(const auto client, new_uuid_of_time(time_ms));
  const std::string content =
      json::Text::object().add("type", "text").add("text", text).add_json("text_elements", "[]").str();
  const std::string input =
      json::Text::object().add_json("content", "[" + content + "]").add("client_id", client).str();
  const std::string payload = json::Text::object().add_json("UserInput", input).str();
  RETURN_IF_ERROR(change.connection().execute(
      "INSERT INTO queued_items(id, thread_id, payload_json, queue_order, created_at_ms, updated_at_ms) SELECT ?1, ?2, "
      "?3, (SELECT coalesce(max(queue_order), -1) + 1 FROM queued_items WHERE thread_id = ?2), ?4, ?4 WHERE (SELECT "
      "count(*) FROM queued_items WHERE thread_id = ?2) < ?5",
      id, thread, payload, time_ms, kMostQueued));
  if (change.connection().rows_changed() == 0) {
    return Error{Errc::busy, "100 messages wait in Codex's queue for this thread, its most; let it run some first"};
  }
  RETURN_IF_ERROR(change.commit());
  return id;
}

/// The row changes first, but is committed last: until then, it can still be undone.
Result<void> set_archived(const ThreadStore& store, const std::string& thread, const ThreadNow& now, bool is_archived,
                          bool sync) {
  const std::string& home = store.paths().agent_dir;
  std::optional<Transaction> change;
  if (auto begun = begin_change(home, sync); begun) {
    change.emplace(*std::move(begun));
    const std::string path = home + "/" + folder_of(now.active, is_archived) + "/" + plain_name(now.active);
    RETURN_IF_ERROR(change->connection().execute(
        "UPDATE threads SET archived_at = CASE WHEN ?2 = 0 THEN NULL WHEN archived THEN archived_at ELSE ?3 END, "
        "archived = ?2, rollout_path = ?4 WHERE id = ?1",
        thread, std::int64_t{is_archived ? 1 : 0}, now_ms() / 1000, path));
  } else if (begun.error().code != Errc::not_found) {
    return begun.error();
  }
  Moves moves(store.disk(), home, sync);
  auto done = moves.make(now.own, is_archived);
  if (done && change) {
    done = change->commit();
  }
  if (!done && (!change || change->is_surely_undone())) {
    moves.undo();
  }
  store.forget_rows();
  store.forget_files();
  return done;
}

}  // namespace arborfs::codex
