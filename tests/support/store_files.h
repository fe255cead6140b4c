// What a store holds, to compare it with what it held before.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "tests/support/sqlite_program.h"

namespace arborfs::testing {

/// Bytes and time of each file, by its path; of a database, its rows.
using Files = std::map<std::string, std::string>;

inline bool is_database(const std::filesystem::path& path) {
  return path.extension() == ".db" || path.extension() == ".sqlite";
}

inline std::string rows_of(const std::filesystem::path& path) {
  SqliteProgram program(path.string());
  std::string rows;
  for (const char* table : {"session", "project", "message", "part", "threads"}) {
    const bool has_table =
        program.run("SELECT name FROM sqlite_master WHERE name = '" + std::string(table) + "'") != "";
    rows += has_table ? program.run("SELECT * FROM " + std::string(table) + " ORDER BY 1") : "";
  }
  return rows;
}

inline Files files_in(const std::filesystem::path& dir) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    const std::string name = entry.path().string();
    const bool is_of_lock = name.ends_with("-wal") || name.ends_with("-shm") || name.ends_with(".jsonl.lock");
    if (!entry.is_regular_file() || is_of_lock) {  // goat's lock stays, as goat leaves it
      continue;
    }
    std::ifstream in(entry.path(), std::ios::binary);
    const auto time = std::filesystem::last_write_time(entry.path()).time_since_epoch().count();
    files[name] = is_database(entry.path())
                      ? rows_of(entry.path())
                      : std::to_string(time) + " " + std::string{std::istreambuf_iterator(in), {}};
  }
  return files;
}

}  // namespace arborfs::testing
