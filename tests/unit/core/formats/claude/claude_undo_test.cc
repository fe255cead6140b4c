// Undo of every operation on sessions of Claude Code: its folder is as it was before, byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/claude_acts.h"
#include "tests/support/store_files.h"
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
  const auto before = testing::files_in(stage.config());
  ASSERT_TRUE(GetParam().run(stage));
  const std::string name = GetParam().name;
  if (name.starts_with("restore") || name.starts_with("fork") || name == "put back") {
    return;  // they become operations above the writer of one agent
  }
  const auto done = testing::undo_last(stage.writer());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(testing::files_in(stage.config()), before);
}

TEST(UndoOfClaude, GivesBackTheFileOfATitleThatWasCleared) {
  ClaudeStage stage(Disk::real(), deleting());
  testing::with_rows(stage);
  const std::string file = "projects/-work/" + std::string(testing::kClaudeId) + "/custom-title.json";
  stage.put(file, R"({"customTitle":"Side","by":"user"})");
  std::filesystem::permissions(stage.config() + "/" + file, std::filesystem::perms(0640));
  stage.start();
  const auto before = testing::files_in(stage.config());
  ASSERT_TRUE(stage.writer().set_title(stage.session(), ""));
  EXPECT_FALSE(std::filesystem::exists(stage.config() + "/" + file));
  const auto done = testing::undo_last(stage.writer());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(testing::files_in(stage.config()), before);
  EXPECT_EQ(std::filesystem::status(stage.config() + "/" + file).permissions(), std::filesystem::perms(0640));
}

TEST(UndoOfClaude, GivesBackTheMarkOfAnArchivedSession) {
  ClaudeStage stage(Disk::real(), deleting());
  testing::with_rows(stage);
  const std::string file = "projects/-work/" + std::string(testing::kClaudeId) + "/archived.json";
  stage.put(file, R"({"archived":true,"at":"2026-05-01T10:00:00.000Z","by":"sdk"})");
  std::filesystem::permissions(stage.config() + "/" + file, std::filesystem::perms(0644));
  stage.start();
  const auto before = testing::files_in(stage.config());
  ASSERT_TRUE(stage.writer().set_mark(stage.session(), Mark::archived, false));
  ASSERT_TRUE(testing::undo_last(stage.writer()));
  EXPECT_EQ(testing::files_in(stage.config()), before);
  EXPECT_EQ(std::filesystem::status(stage.config() + "/" + file).permissions(), std::filesystem::perms(0644));
}

TEST(UndoOfClaude, AFileThatIsNoneOfTheProgramStays) {
  ClaudeStage stage(Disk::real(), deleting());
  testing::with_rows(stage);
  const std::string beside = "projects/-work/" + std::string(testing::kClaudeId);
  stage.put(beside + "/custom-title.json", std::string(100'000, ' ') + R"({"customTitle":"Side"})");
  stage.put(beside + "/archived.json", std::string(100'000, ' '));
  stage.start();
  ASSERT_TRUE(stage.writer().set_title(stage.session(), "Row"));
  const auto before = testing::files_in(stage.config());
  EXPECT_EQ(stage.writer().set_title(stage.session(), "").error().code, Errc::too_large);
  EXPECT_EQ(stage.writer().set_mark(stage.session(), Mark::archived, true).error().code, Errc::too_large);
  EXPECT_EQ(testing::files_in(stage.config()), before);
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
