// Prompt histories of omp for tests: databases with the tables of its versions (omp/FORMAT.md Q1).
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace arborfs::testing {

inline const std::string kHistoryIndex =
    "CREATE INDEX idx_history_created_at ON history(created_at DESC);"
    "CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');"
    "CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN"
    " INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END;";
inline const std::string kHistory13 =
    "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL,"
    " created_at INTEGER NOT NULL DEFAULT (unixepoch()), cwd TEXT);" +
    kHistoryIndex;
inline const std::string kHistory18 =
    "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL UNIQUE,"
    " created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT, session_id TEXT);" +
    kHistoryIndex + "PRAGMA user_version = 1;";
inline const std::string kHistory183 =
    kHistory18 +
    "ALTER TABLE history ADD COLUMN use_count INTEGER NOT NULL DEFAULT 1;"
    "CREATE TABLE session_titles (session_id TEXT PRIMARY KEY, title TEXT NOT NULL, updated_at INTEGER);";

/// A connection of another program.
class HistoryProgram {
 public:
  explicit HistoryProgram(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    sqlite3_busy_timeout(database_, 5000);
  }
  ~HistoryProgram() { sqlite3_close(database_); }
  HistoryProgram(const HistoryProgram&) = delete;
  HistoryProgram& operator=(const HistoryProgram&) = delete;

  /// The rows, with | between columns and a line feed after each row.
  std::string run(const std::string& sql) {
    std::string rows;
    const auto take = [](void* out, int columns, char** values, char** /*names*/) {
      for (int i = 0; i < columns; ++i) {
        *static_cast<std::string*>(out) += (i == 0 ? "" : "|") + std::string(values[i] == nullptr ? "" : values[i]);
      }
      *static_cast<std::string*>(out) += "\n";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), take, &rows, nullptr), SQLITE_OK) << sqlite3_errmsg(database_);
    return rows;
  }

 private:
  sqlite3* database_ = nullptr;
};

}  // namespace arborfs::testing
