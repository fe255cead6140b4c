// Another program that has a SQLite database open.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace arborfs::testing {

class SqliteProgram {
 public:
  explicit SqliteProgram(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    sqlite3_busy_timeout(database_, 5000);
  }
  ~SqliteProgram() { sqlite3_close(database_); }
  SqliteProgram(const SqliteProgram&) = delete;
  SqliteProgram& operator=(const SqliteProgram&) = delete;

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
