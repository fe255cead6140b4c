// Undo of every operation on sessions of OpenCode, in its database and in files: the rows or files are as they were.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/opencode_acts.h"
#include "tests/support/undone.h"

namespace arborfs::conformance {
namespace {

TEST(UndoOfOpenCode, GivesTheStoreBack) {
  for (const char* sample : {"files", "fresh-1.18.33"}) {
    for (const OpenCodeAct& act : kOpenCodeActs) {
      SCOPED_TRACE(std::string(sample) + ": " + act.name);
      const std::string name = act.name;
      if (name.starts_with("fork") || name == "restore") {
        continue;  // operations above the writer of one agent
      }
      OpenCodeStage stage(sample, Disk::real());
      ASSERT_TRUE(act.prepare(stage));
      const auto before = stage.pieces();
      ASSERT_TRUE(act.run(stage));
      EXPECT_TRUE(act.is_done(stage, before));
      const auto done = arborfs::testing::undo_last(stage.writer());
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(stage.pieces(), before);
      stage.expect_sound();
    }
  }
}

TEST(UndoOfOpenCode, RefusesAMessageThatWasAnswered) {
  OpenCodeStage stage("fresh-1.18.33", Disk::real());
  ASSERT_TRUE(kOpenCodeActs[0].run(stage));
  arborfs::testing::SqliteProgram(stage.database())
      .run(std::string("UPDATE session SET time_updated = time_updated + 1 WHERE title = '") + kOpenCodePlain + "'");
  const auto now = stage.pieces();
  EXPECT_EQ(arborfs::testing::undo_last(stage.writer()).error().code, Errc::stale);
  EXPECT_EQ(stage.pieces(), now);
}

}  // namespace
}  // namespace arborfs::conformance
