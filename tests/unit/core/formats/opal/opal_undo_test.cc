// Undo of every operation on sessions of Opal: the log is as it was before, byte for byte.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/opal_acts.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

using testing::OpalAct;
using testing::OpalStage;

TEST(UndoOfOpal, GivesTheLogBack) {
  for (const OpalAct& act : testing::kOpalActs) {
    SCOPED_TRACE(act.name);
    const std::string name = act.name;
    if (name.starts_with("new") || name.starts_with("fork")) {
      continue;  // operations above the writer of one agent
    }
    WriteSettings settings;
    settings.allow_delete = true;
    OpalStage stage(Disk::real(), settings);
    const auto before = testing::files_below(stage.data_folder());
    ASSERT_TRUE(act.run(stage));
    EXPECT_NE(testing::files_below(stage.data_folder()), before);
    const auto done = testing::undo_last(stage.writer());
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(testing::files_below(stage.data_folder()), before);
  }
}

TEST(UndoOfOpal, RefusesWhatAnotherProgramWrote) {
  OpalStage stage(Disk::real());
  ASSERT_TRUE(testing::kOpalActs[0].run(stage));
  std::string bytes = stage.bytes();
  bytes.replace(bytes.find(testing::kOpalMarker), 4, "WHAT");
  std::ofstream(stage.log(), std::ios::binary) << bytes;
  EXPECT_EQ(testing::undo_last(stage.writer()).error().code, Errc::stale);
  EXPECT_EQ(stage.bytes(), bytes);
}

}  // namespace
}  // namespace arborfs
