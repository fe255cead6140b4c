#include "core/formats/omp/history/history_writes.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"
#include "core/sqlite/database.h"

namespace arborfs {

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
Result<void> make_file(const std::string& path, bool sync, Disk& disk) {
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

}  // namespace

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

Result<void> add_to_omp_history(const std::string& path, const Prompt& prompt, const PromptHistory::Adding& adding,
                                Disk& disk) {
  if (!json::is_valid_utf8(prompt.text)) {
    return Error{Errc::not_utf8, "the prompt is not UTF-8"};
  }
  if (is_blank(prompt.text)) {
    return Error{Errc::invalid_argument, "the prompt has nothing but white space"};
  }
  RETURN_IF_ERROR(make_file(path, adding.sync, disk));
  const auto how = adding.sync ? Transaction::Sync::full : Transaction::Sync::left_to_kernel;
  ASSIGN_OR_RETURN(const auto transaction, Transaction::begin(path, how, adding.patience));
  RETURN_IF_ERROR(store(transaction.connection(), prompt));
  return transaction.commit();
}

}  // namespace arborfs
