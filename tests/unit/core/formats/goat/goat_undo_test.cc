// Undo of every operation on sessions of goat that can be taken back: its files are as they were before.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/goat_acts.h"
#include "tests/support/split_disk.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

using testing::GoatAct;
using testing::GoatStage;

class UndoOfGoatAct : public ::testing::TestWithParam<GoatAct> {};
INSTANTIATE_TEST_SUITE_P(Goat, UndoOfGoatAct, ::testing::ValuesIn(testing::kGoatActs), testing::name_of_goat_act);

/// Checkpoints and rewinds have undo of their own: a rewind keeps what was there in a checkpoint.
TEST_P(UndoOfGoatAct, GivesTheFilesBack) {
  const std::string name = GetParam().name;
  WriteSettings settings;
  settings.allow_delete = true;
  testing::SplitDisk disk;
  GoatStage stage(disk, settings);
  GetParam().prepare(stage);
  stage.start();
  disk.set_apart(GetParam().trash_is_apart ? stage.settings().trash : "");
  const auto before = testing::files_below(stage.base());
  ASSERT_TRUE(GetParam().run(stage));
  if (!name.starts_with("append") && name != "title" && !name.starts_with("remove")) {
    return;
  }
  const auto done = testing::undo_last(stage.writer());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(testing::files_below(stage.base()), before);
}

}  // namespace
}  // namespace arborfs
