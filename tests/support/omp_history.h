// Prompt histories of omp for tests: databases with the tables of its versions (omp/FORMAT.md Q1).
#pragma once

#include <string>

#include "tests/support/sqlite_program.h"

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

}  // namespace arborfs::testing
