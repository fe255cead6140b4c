// Undo of every operation on sessions of Claude Code: its folder is as it was before, byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/claude_acts.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

using testing::ClaudeAct;
using testing::ClaudeStage;

WriteSettings deleting() {
  WriteSettings settings;
  settings.allow_delete = true;
  return settings;
}

class UndoOfClaudeAct : public ::testing::TestWithParam<ClaudeAct> {};
INSTANTIATE_TEST_SUITE_P(Claude, UndoOfClaudeAct, ::testing::ValuesIn(testing::kClaudeActs),
                         testing::name_of_claude_act);

TEST_P(UndoOfClaudeAct, GivesTheFolderBack) {
  testing::SplitDisk disk;
  ClaudeStage stage(disk, deleting());
  testing::prepare_claude_act(GetParam(), stage, disk);
  const auto before = testing::files_below(stage.config());
  ASSERT_TRUE(GetParam().run(stage));
  const std::string name = GetParam().name;
  if (name.starts_with("restore") || name.starts_with("fork") || name == "put back") {
    return;  // they become operations above the writer of one agent
  }
  const auto done = testing::undo_last(stage.writer());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(testing::files_below(stage.config()), before);
}

/// Claude Code takes no lock.
TEST(UndoOfClaude, RefusesWhatTheProgramWroteBehind) {
  ClaudeStage stage(Disk::real(), deleting());
  testing::with_rows(stage);
  stage.start();
  ASSERT_TRUE(testing::claude_acts::append(stage, testing::kClaudeText));
  const std::string appended = stage.bytes();
  std::ofstream(stage.config() + "/" + ClaudeStage::log(), std::ios::app)
      << ClaudeStage::prompt("x9", "a1", "of Claude");
  const auto done = testing::undo_last(stage.writer());
  EXPECT_EQ(done.error().code, Errc::stale);
  EXPECT_EQ(stage.bytes(), appended + ClaudeStage::prompt("x9", "a1", "of Claude"));
}

}  // namespace
}  // namespace arborfs
