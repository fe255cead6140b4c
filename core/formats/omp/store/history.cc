#include "core/formats/omp/store/history.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"
#include "core/sqlite/database.h"

namespace arborfs::omp {

namespace {

using sqlite::Connection;
using sqlite::Transaction;

constexpr mode_t kPrivate = 0600;
constexpr std::int64_t kKnownVersion = 1;

constexpr const char* kTables =
    "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL UNIQUE, created_at INTEGER NOT "
    "NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT, session_id TEXT, use_count INTEGER NOT NULL "
    "DEFAULT 1);"
    "CREATE INDEX IF NOT EXISTS idx_history_created_at ON history(created_at DESC);"
    "CREATE VIRTUAL TABLE IF NOT EXISTS history_fts USING fts5(prompt, content='history', content_rowid='id');"
    "CREATE TRIGGER IF NOT EXISTS history_ai AFTER INSERT ON history BEGIN"
    " INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END;"
    "PRAGMA user_version=1";

Result<std::int64_t> number_of(const Connection& connection, std::string_view query) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare(query));
  ASSIGN_OR_RETURN(const bool has_row, rows.step());
  return has_row ? rows.integer(0) : 0;
}

/// Creates an empty database if there is none. Another program may do the same at this moment.
Result<void> make_database_file(const std::string& path, bool sync, Disk& disk) {
  const std::filesystem::path whole(path);
  const auto folder = Dir::open_root(whole.parent_path().string());
  if (!folder) {
    return folder.error();
  }
  const auto made = disk.create(*folder, whole.filename().string(), kPrivate);
  if (!made) {
    return made.error().code == Errc::already_exists ? Result<void>() : Result<void>(made.error());
  }
  return sync ? disk.sync_folder(*folder) : Result<void>();
}

/// A prompt is unique since omp 18.
Result<bool> is_unique(const Connection& connection) {
  ASSIGN_OR_RETURN(const std::int64_t indexes,
                   number_of(connection,
                             "SELECT count(*) FROM pragma_index_list('history') AS i WHERE i.\"unique\" AND NOT "
                             "i.partial AND (SELECT group_concat(name) FROM pragma_index_info(i.name)) = 'prompt'"));
  return indexes > 0;
}

/// The database in which a prompt is to be stored.
struct Tables {
  std::set<std::string> columns;  // of history
  bool is_unique = false;         // a prompt is in one row
  bool has_index = false;         // history_fts exists
};

/// Makes the tables if there are none. Errors: unsupported.
Result<Tables> known_tables(const Connection& connection) {
  ASSIGN_OR_RETURN(const std::int64_t version, number_of(connection, "PRAGMA user_version"));
  ASSIGN_OR_RETURN(auto columns, connection.columns_of("history"));
  if (columns.empty() && version <= kKnownVersion) {
    RETURN_IF_ERROR(connection.run(kTables));
    ASSIGN_OR_RETURN(columns, connection.columns_of("history"));
  }
  ASSIGN_OR_RETURN(const std::int64_t triggers,
                   number_of(connection,
                             "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = "
                             "'history' AND name <> 'history_ai'"));
  if (version > kKnownVersion || triggers > 0 || columns.count("prompt") + columns.count("created_at") != 2) {
    return Error{Errc::unsupported, "its tables are not those that this version of arborfs knows"};
  }
  ASSIGN_OR_RETURN(const bool unique, is_unique(connection));
  ASSIGN_OR_RETURN(const auto indexed, connection.columns_of("history_fts"));
  return Tables{std::move(columns), unique, !indexed.empty()};
}

/// The row of the prompt that counts as the same one: any with its text, or for omp 13 only the last one.
Result<std::int64_t> row_of_same(const Connection& connection, std::string_view text, bool unique) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare(unique ? "SELECT id, prompt FROM history WHERE prompt = ?1"
                                                        : "SELECT id, prompt FROM history ORDER BY id DESC LIMIT 1"));
  if (unique) {
    rows.bind(1, text);
  }
  ASSIGN_OR_RETURN(const bool has_row, rows.step());
  return has_row && rows.text(1) == text ? rows.integer(0) : 0;
}

/// Runs a statement with text, time, cwd, session and row as its parameters.
Result<void> run(const Connection& connection, const std::string& statement, const Prompt& prompt, std::int64_t row) {
  ASSIGN_OR_RETURN(auto change, connection.prepare(statement));
  change.bind(1, prompt.text);
  change.bind(2, prompt.time_s);
  if (!prompt.cwd.empty()) {
    change.bind(3, prompt.cwd);
  }
  if (!prompt.session.empty()) {
    change.bind(4, prompt.session);
  }
  change.bind(5, row);
  RETURN_IF_ERROR(change.step());
  return {};
}

/// As omp 18 does for a prompt that is typed again (omp/FORMAT.md Q4).
Result<void> renew(const Connection& connection, const Tables& tables, const Prompt& prompt, std::int64_t row) {
  std::string changes = "created_at = ?2";
  changes += tables.columns.count("cwd") != 0 ? ", cwd = ?3" : "";
  changes += tables.columns.count("session_id") != 0 ? ", session_id = ?4" : "";
  changes += tables.columns.count("use_count") != 0 ? ", use_count = use_count + 1" : "";
  return run(connection, "UPDATE history SET " + changes + " WHERE id = ?5", prompt, row);
}

/// Does also what the trigger history_ai would do (omp/FORMAT.md Q1).
Result<void> insert(const Connection& connection, const Tables& tables, const Prompt& prompt) {
  std::string names = "prompt, created_at";
  std::string values = "?1, ?2";
  for (const auto& [name, value] : {std::pair("cwd", ", ?3"), std::pair("session_id", ", ?4")}) {
    const bool has_column = tables.columns.count(name) != 0;
    names += has_column ? ", " + std::string(name) : "";
    values += has_column ? value : "";
  }
  RETURN_IF_ERROR(run(connection, "INSERT INTO history (" + names + ") VALUES (" + values + ")", prompt, 0));
  return tables.has_index
             ? run(connection, "INSERT INTO history_fts(rowid, prompt) VALUES (last_insert_rowid(), ?1)", prompt, 0)
             : Result<void>();
}

Result<void> store(const Connection& connection, Prompt prompt) {
  connection.leave_out_triggers();
  ASSIGN_OR_RETURN(const Tables tables, known_tables(connection));
  prompt.text = tables.is_unique ? stored_prompt(prompt.text) : std::string(trimmed(prompt.text));
  prompt.time_s = prompt.time_s == 0 ? now_ms() / 1000 : prompt.time_s;
  ASSIGN_OR_RETURN(const std::int64_t row, row_of_same(connection, prompt.text, tables.is_unique));
  if (row == 0) {
    return insert(connection, tables, prompt);
  }
  return tables.is_unique ? renew(connection, tables, prompt, row) : Result<void>();
}

using sqlite::Connection;
using Columns = std::set<std::string>;

/// Says which file an error is about.
Error about(const std::string& path, const Error& error) {
  return {error.code, "the prompt history " + path + ": " + error.message};
}

/// True if the database has no tables but those that omp also makes without a prompt history (omp/FORMAT.md Q5).
Result<bool> has_no_history(const Connection& connection) {
  ASSIGN_OR_RETURN(auto rows,
                   connection.prepare("SELECT count(*) FROM sqlite_master WHERE type='table' AND name NOT "
                                      "LIKE 'sqlite_%' AND name NOT IN ('session_titles','session_recaps')"));
  RETURN_IF_ERROR(rows.step());
  return rows.integer(0) == 0;
}

/// Absent columns are null: omp 13 has no session_id (omp/FORMAT.md Q1).
std::string query_for(const Columns& columns) {
  std::string query = "SELECT created_at, prompt";
  for (const char* optional : {"cwd", "session_id"}) {
    query += columns.count(optional) != 0 ? ", " + std::string(optional) : ", NULL";
  }
  return query + " FROM history WHERE created_at BETWEEN ?1 AND ?2 ORDER BY created_at DESC, id DESC";
}

class History final : public PromptHistory {
 public:
  History(const std::string& path, Disk& disk) : database_(path, {"history"}, disk), disk_(disk) {}

  [[nodiscard]] Result<State> state() const override {
    const auto files = database_.state();
    if (!files) {
      return about(path(), files.error());
    }
    const auto& [database, wal] = *files;
    const std::array<std::uint64_t, 6> told{database.ino, database.size, static_cast<std::uint64_t>(database.mtime_ns),
                                            wal.ino,      wal.size,      static_cast<std::uint64_t>(wal.mtime_ns)};
    return State{files->mtime_ns(), xxh64({reinterpret_cast<const char*>(told.data()), sizeof told})};
  }

  Result<void> read(const Span& span, const Reading& reading) const override {
    const std::shared_lock open(history_gate());
    const auto done = database_.read([&](const Connection& connection) -> Result<void> {
      reading.restart();
      return read_rows(connection, span, reading);
    });
    return done ? done : Result<void>(about(path(), done.error()));
  }

  Result<std::vector<Effect>> add(const Prompt& prompt, const Adding& how) override {
    const std::shared_lock open(history_gate());
    auto done = add_to_history(path(), prompt, how, disk_);
    const bool is_about_text =
        !done && (done.error().code == Errc::invalid_argument || done.error().code == Errc::not_utf8);
    return done || is_about_text ? done : Result<std::vector<Effect>>(about(path(), done.error()));
  }

  [[nodiscard]] const std::string& path() const override { return database_.path(); }

 private:
  static Result<void> read_rows(const Connection& connection, const Span& span, const Reading& reading) {
    ASSIGN_OR_RETURN(const auto columns, connection.columns_of("history"));
    if (columns.empty()) {
      ASSIGN_OR_RETURN(const bool is_new, has_no_history(connection));
      return is_new ? Result<void>() : unknown_tables();
    }
    if (columns.count("id") + columns.count("prompt") + columns.count("created_at") != 3) {
      return unknown_tables();
    }
    ASSIGN_OR_RETURN(auto rows, connection.prepare(query_for(columns)));
    rows.bind(1, span.first_s);
    rows.bind(2, span.last_s);
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_row, rows.step());
      if (!has_row || !reading.take({rows.integer(0), std::string(rows.text(1)), std::string(rows.text(2)),
                                     std::string(rows.text(3))})) {
        return {};
      }
    }
  }

  static Error unknown_tables() {
    return {Errc::unsupported, "its tables are not those that this version of arborfs knows"};
  }

  const sqlite::Database database_;
  Disk& disk_;
};

}  // namespace

Result<std::vector<Effect>> add_to_history(const std::string& path, const Prompt& prompt,
                                           const PromptHistory::Adding& adding, Disk& disk) {
  if (!json::is_valid_utf8(prompt.text)) {
    return Error{Errc::not_utf8, "the prompt is not UTF-8"};
  }
  if (is_blank(prompt.text)) {
    return Error{Errc::invalid_argument, "the prompt has nothing but white space"};
  }
  RETURN_IF_ERROR(make_database_file(path, adding.sync, disk));
  const auto how = adding.sync ? Transaction::Sync::full : Transaction::Sync::left_to_kernel;
  ASSIGN_OR_RETURN(auto transaction, Transaction::begin(path, how, adding.patience));
  transaction.record();
  RETURN_IF_ERROR(store(transaction.connection(), prompt));
  const std::string changes = transaction.changeset();
  RETURN_IF_ERROR(transaction.commit());
  return changes.empty() ? std::vector<Effect>() : std::vector<Effect>{effect_of_rows(path, changes)};
}

std::string stored_prompt(std::string_view text) {
  std::string stored;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    stored += trimmed_end(text.substr(at, end - at));
    stored += end < text.size() ? "\n" : "";
    at = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
  }
  return std::string(trimmed(stored));
}

std::shared_mutex& history_gate() {
  static std::shared_mutex gate;
  return gate;
}

std::unique_ptr<PromptHistory> make_history(const std::string& sessions, Disk& disk) {
  const auto folder = std::filesystem::path(sessions).parent_path();
  return std::make_unique<History>((folder / "history.db").string(), disk);
}

}  // namespace arborfs::omp
