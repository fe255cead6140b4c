// Undo of every operation on sessions of omp and pi: the store is as it was before, byte for byte, or undo refuses and
// changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/acts.h"
#include "tests/support/killed_acts.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

using testing::Act;
using ::testing::HasSubstr;
using testing::Stage;
using testing::undo_last;

std::string sessions_of(const Stage& stage) {
  return stage.temp().sessions().string();
}

class UndoOfAct : public ::testing::TestWithParam<Act> {};
INSTANTIATE_TEST_SUITE_P(Omp, UndoOfAct, ::testing::ValuesIn(testing::kActs), testing::name_of);

/// New sessions, forks and restores become operations above the writer of one agent; logs of an old version are written
/// anew; a move is taken back by a move.
TEST_P(UndoOfAct, GivesTheStoreBack) {
  const std::string name = GetParam().name;
  if (name == "put back") {
    GTEST_SKIP() << "this takes a relocation back itself";
  }
  const bool is_above = name.starts_with("create") || name.starts_with("fork") || name.starts_with("restore") ||
                        name.starts_with("undo") || name == "put back";
  const bool is_final = name.starts_with("move") || name.find("version 1") != std::string::npos;
  testing::SplitDisk disk;
  Stage stage(testing::Storage::files, disk, testing::settings_of_acts());
  const SessionPtr session = testing::prepare(GetParam(), stage, disk);
  const auto before = testing::files_below(sessions_of(stage));
  const auto leaf = is_above ? kNoEntry : Stage::leaf(session);
  ASSERT_TRUE(GetParam().run(stage, session));
  if (is_above) {
    EXPECT_TRUE(name.starts_with("restore") || !testing::has_operation(stage.writer()));
    return;
  }
  const auto done = undo_last(stage.writer());
  if (is_final) {
    EXPECT_EQ(done.error().code, Errc::unsupported);
    return;
  }
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(testing::files_below(sessions_of(stage)), before);
  EXPECT_EQ(Stage::leaf(testing::the_session(stage)), leaf);
  EXPECT_TRUE(stage.catalog().state_of(*testing::the_session(stage)).erased.of(session->place().file).empty())
      << "undo is no loss of entries";
}

class Undo : public ::testing::Test {
 protected:
  Stage stage{testing::Storage::files, Disk::real(), testing::settings_of_acts()};
  SessionPtr session = stage.add_small();
};

TEST_F(Undo, GoesOneFurtherBackEachTime) {
  const std::string before = stage.bytes(session);
  ASSERT_TRUE(testing::append(stage, session));
  ASSERT_TRUE(stage.writer().set_title(session, "A title"));
  ASSERT_TRUE(stage.writer().label(session, {{"aaaa0001", "start"}}));
  for (const char* verb : {"label", "title", "append"}) {
    const auto done = undo_last(stage.writer());
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_THAT(*done, HasSubstr(verb));
  }
  EXPECT_EQ(stage.bytes(session), before);
  EXPECT_EQ(undo_last(stage.writer()).error().code, Errc::not_found);
}

TEST_F(Undo, RefusesWhatAnotherProgramWroteBehind) {
  ASSERT_TRUE(testing::append(stage, session));
  std::ofstream(stage.temp().log("-work", testing::kName), std::ios::app)
      << testing::TempStore::user("aaaa0009", "aaaa0002", "of another program") << "\n";
  const std::string now = stage.bytes(session);
  const auto done = undo_last(stage.writer());
  EXPECT_EQ(done.error().code, Errc::stale);
  EXPECT_THAT(done.error().message, HasSubstr("was written since; nothing was taken back"));
  EXPECT_EQ(stage.bytes(session), now);
}

TEST_F(Undo, TakesBackOneInTheMiddleOnlyIfNothingBuildsOnIt) {
  ASSERT_TRUE(testing::append(stage, session));
  ASSERT_TRUE(stage.writer().change_tags(session, {{"blue"}, {}, false}));
  ASSERT_TRUE(testing::append(stage, session));
  const auto all = stage.catalog().operations().all();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3U);
  const auto undo_of = [&](const std::string& id) {
    const auto found = find_operation(stage.catalog().operations(), id);
    return found ? undo(stage.writer(), *found, nullptr) : Result<std::string>(found.error());
  };
  EXPECT_EQ(undo_of(all->at(0).id).error().code, Errc::stale);
  EXPECT_TRUE(undo_of(all->at(1).id));
  EXPECT_TRUE(session->noted()->tags.empty());
  EXPECT_EQ(undo_of(all->at(1).id).error().code, Errc::invalid_argument);
}

TEST_F(Undo, OfACutThatWasAlreadyMadeSucceeds) {
  const std::string before = stage.bytes(session);
  ASSERT_TRUE(testing::append(stage, session));
  std::filesystem::resize_file(stage.temp().log("-work", testing::kName), before.size());
  EXPECT_TRUE(undo_last(stage.writer()));
  EXPECT_EQ(stage.bytes(session), before);
}

/// The files that have their own names.
testing::StoreFiles named_files(const Stage& stage) {
  auto files = testing::files_below(sessions_of(stage));
  std::erase_if(files, [](const auto& file) { return file.first.find("/.arborfs-") != std::string::npos; });
  return files;
}

TEST(KilledUndo, LeavesOneStateOrTheOtherAndIsCompletedByTheNext) {
  const std::vector<Result<void> (*)(Stage&, const SessionPtr&)> acts = {
      testing::append, testing::remove, [](Stage& stage, const SessionPtr& session) -> Result<void> {
        return testing::plain(stage.writer().set_title(session, "another title"));
      }};
  for (const auto& act : acts) {
    testing::KillMoments moments;
    for (int round = 0; round < testing::kill_rounds() && !::testing::Test::HasFailure(); ++round) {
      Stage stage(testing::Storage::files, Disk::real(), testing::settings_of_acts());
      const SessionPtr session = testing::with_slot(stage);
      const auto before = named_files(stage);
      ASSERT_TRUE(act(stage, session));
      const auto after = named_files(stage);
      const bool is_done =
          testing::is_acknowledged_before_kill(moments, [&] { return testing::plain(undo_last(stage.writer())); });
      const auto now = named_files(stage);
      EXPECT_TRUE(now == before || (now == after && !is_done));
      stage.restart();
      if (testing::has_operation(stage.writer())) {
        const auto again = undo_last(stage.writer());
        EXPECT_TRUE(again) << again.error().message;
      }
      EXPECT_EQ(named_files(stage), before);
    }
  }
}

}  // namespace
}  // namespace arborfs
