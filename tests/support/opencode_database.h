// A copy of a sample database of OpenCode, with the writer of arborfs and another program on it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "tests/support/opencode_session.h"
#include "tests/support/sqlite_program.h"

namespace arborfs::conformance {

using Program = testing::SqliteProgram;

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
