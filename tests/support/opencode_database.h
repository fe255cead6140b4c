// A copy of a sample database of OpenCode, with the writer of arborfs and another program on it.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "tests/support/opencode_session.h"

namespace arborfs::conformance {

/// A connection of another program.
class Program {
 public:
  explicit Program(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    sqlite3_busy_timeout(database_, 5000);
  }
  ~Program() { sqlite3_close(database_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

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

class WritesToOpenCode : public OpenCodeSamples {
 protected:
  /// Opens a copy of a sample. The session is the first whose title this is.
  void open(const std::string& sample, const std::string& title, WriteSettings settings = {},
            Disk& disk = Disk::real()) {
    folder = copy(sample);
    database = (folder / "opencode.db").string();
    auto stores = open_stores({{"opencode", folder.string(), false}}, Access::write, disk);
    ASSERT_TRUE(stores);
    catalog = std::make_unique<Catalog>(*stores, "/home/dev", "");
    catalog->rescan();
    session = titled(title);
    ASSERT_TRUE(session);
    writer = make_writer(*catalog, settings);
  }
  /// Null if there is none.
  [[nodiscard]] SessionPtr titled(const std::string& title) const {
    SessionPtr found;
    const auto view = catalog->view();
    for (const auto& [id, one] : view->by_id) {
      found = one->head().header.title == title ? one : found;
    }
    return found;
  }
  [[nodiscard]] std::string id() const { return session->stem(); }
  void expect_sound() {
    Program program(database);
    EXPECT_EQ(program.run("PRAGMA integrity_check"), "ok\n");
    EXPECT_EQ(program.run("PRAGMA foreign_key_check"), "");
  }

  std::filesystem::path folder;
  std::string database;
  std::unique_ptr<Catalog> catalog;
  SessionPtr session;
  std::unique_ptr<Writer> writer;
};

}  // namespace arborfs::conformance
