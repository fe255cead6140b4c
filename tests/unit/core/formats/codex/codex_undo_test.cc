// Undo of every operation on threads of Codex: its files and the rows of its database are as they were before.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/codex_acts.h"
#include "tests/support/split_disk.h"
#include "tests/support/store_files.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

using testing::CodexAct;
using testing::CodexStage;

class UndoOfCodexAct : public ::testing::TestWithParam<CodexAct> {};
INSTANTIATE_TEST_SUITE_P(Codex, UndoOfCodexAct, ::testing::ValuesIn(testing::kCodexActs), testing::name_of_codex_act);

TEST_P(UndoOfCodexAct, GivesTheStoreBack) {
  const std::string name = GetParam().name;
  WriteSettings settings;
  settings.allow_delete = true;
  testing::SplitDisk disk;
  CodexStage stage(disk, settings);
  GetParam().prepare(stage);
  stage.start();
  disk.set_apart(GetParam().trash_is_apart ? stage.settings().trash : "");
  const auto before = testing::files_in(stage.home());
  ASSERT_TRUE(GetParam().run(stage));
  if (name.starts_with("fork") || name.starts_with("restore") || name == "queue") {
    return;  // operations above the writer of one agent, and what Codex may have run
  }
  const auto done = testing::undo_last(stage.writer());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(testing::files_in(stage.home()), before);
}

TEST(UndoOfCodex, RefusesANameThatCodexHasChanged) {
  CodexStage stage;
  stage.start();
  ASSERT_TRUE(testing::title_of<testing::kPaginated>(stage));
  stage.query("UPDATE threads SET name = 'Of Codex' WHERE id = '" + std::string(testing::kPaginated) + "'");
  const std::string names = stage.names();
  EXPECT_EQ(testing::undo_last(stage.writer()).error().code, Errc::stale);
  EXPECT_EQ(stage.names(), names);
}

}  // namespace
}  // namespace arborfs
