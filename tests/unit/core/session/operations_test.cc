// The list of what arborfs changed: its lines, its bound, and what many writers and failures leave of it.
#include "core/session/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/hash.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

Operation append_of(const std::string& session) {
  Operation operation;
  operation.verb = "append";
  operation.session = session;
  operation.effects = {effect_of(appended_to("/a/log", {.size = 100, .mtime_ns = 5}, "words\n"))};
  return operation;
}

class OperationsInFolder : public ::testing::Test {
 protected:
  [[nodiscard]] std::string folder() const { return temp.root() + "/state"; }
  [[nodiscard]] std::string file() const { return folder() + "/operations"; }
  testing::TempStore temp;
  testing::FaultyDisk disk;
};

TEST_F(OperationsInFolder, AreReadBackAsTheyWere) {
  Operations operations(folder(), disk);
  Operation whole = append_of("s1");
  whole.title = "a \"title\"";
  whole.agent = "omp";
  whole.dir = "/home/sam/.omp/agent";
  whole.place = {"-work", "x.jsonl"};
  whole.effects.push_back(effect_of(replaced_in("/a/file", "one two three", "one 2 three", {.mtime_ns = 7})));
  whole.effects.push_back(effect_of(made_file("/a/new", "text")));
  whole.effects.push_back(effect_of(removed_file("/a/gone", "all of it", {.mtime_ns = 9, .mode = 0100640})));
  operations.add(whole);
  const auto all = Operations(folder(), disk).all();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1U);
  const Operation& one = all->front();
  EXPECT_EQ(one.id.size(), 8U);
  EXPECT_EQ(one.title, whole.title);
  EXPECT_EQ(one.dir, whole.dir);
  EXPECT_EQ(one.place, whole.place);
  ASSERT_EQ(one.effects.size(), 4U);
  const auto appended = file_change_of(one.effects[0]);
  ASSERT_TRUE(appended);
  EXPECT_EQ(appended->size_before(), 100U);
  EXPECT_EQ(appended->size, 106U);
  EXPECT_EQ(appended->runs[0].hash, xxh64("words\n"));
  const auto replaced = file_change_of(one.effects[1]);
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->runs[0].before, "two");
  EXPECT_EQ(replaced->runs[0].at, 4U);
  EXPECT_EQ(replaced->size_before(), 13U);
  EXPECT_EQ(replaced->time_before, 7);
  EXPECT_TRUE(file_change_of(one.effects[2])->is_new);
  const auto removed = file_change_of(one.effects[3]);
  ASSERT_TRUE(removed && removed->is_removed);
  EXPECT_EQ(removed->runs[0].before, "all of it");
  EXPECT_EQ(removed->size_before(), 9U);
  EXPECT_EQ(removed->mode_before, 0640U);
  EXPECT_EQ(removed->time_before, 9);
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OperationsInFolder, TheLineOfAChangeThatFailedGoes) {
  for (const std::string& where : {folder(), std::string()}) {
    Operations operations(where, disk);
    operations.forget(operations.add(append_of("s1")));
    EXPECT_TRUE(operations.all()->empty());
    const std::string first = operations.add(append_of("s2"));
    const std::string last = operations.add(append_of("s3"));
    operations.forget(first);
    EXPECT_EQ(operations.all()->size(), 2U) << "another change came behind it";
    operations.forget(last);
    ASSERT_EQ(operations.all()->size(), 1U);
    EXPECT_EQ(operations.all()->front().session, "s2");
    operations.forget("");
    EXPECT_EQ(operations.all()->size(), 1U);
  }
  EXPECT_TRUE(fs::exists(file()));
  Operations(folder(), disk).forget("of another object");
  Operations alone(folder() + "2", disk);
  alone.forget(alone.add(append_of("s1")));
  EXPECT_FALSE(fs::exists(folder() + "2/operations"));
}

TEST_F(OperationsInFolder, ManyProcessesAddAndNoneIsLost) {
  constexpr int kThreads = 8;
  constexpr int kEach = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Operations own(folder(), Disk::real());  // a lock of its own, as in a process of its own
      for (int n = 0; n < kEach; ++n) {
        own.add(append_of("s" + std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto all = Operations(folder(), disk).all();
  ASSERT_TRUE(all);
  std::set<std::string> ids;
  for (const Operation& one : *all) {
    ids.insert(one.id);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kThreads) * kEach);
}

TEST_F(OperationsInFolder, OldLinesGoBeyondTheBound) {
  Operations operations(folder(), disk);
  Operations other(folder(), disk);
  other.add(append_of("first"));
  Operation large = append_of("s1");
  large.effects = {effect_of(replaced_in("/a/file", std::string(60'000, 'x'), "short", {}))};
  for (int i = 0; i < 80; ++i) {
    operations.add(large);
  }
  other.add(append_of("last"));
  EXPECT_LT(fs::file_size(file()), Operations::kMostBytes);
  const auto all = operations.all();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->back().session, "last");
  EXPECT_NE(all->front().session, "first");
  EXPECT_GT(all->size(), 20U);
}

TEST_F(OperationsInFolder, OfWhatIsTooLongOnlyTheVerbIsKept) {
  Operations operations(folder(), disk);
  Operation large = append_of("s1");
  large.effects = {effect_of(replaced_in("/a/file", std::string(Operations::kLongest, 'x'), "short", {}))};
  operations.add(large);
  const auto all = operations.all();
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->front().effects.empty());
  EXPECT_FALSE(all->front().cannot.empty());
}

TEST_F(OperationsInFolder, GoOnInAFileThatWasEmptied) {
  Operations operations(folder(), disk);
  operations.add(append_of("one"));
  fs::resize_file(file(), 0);
  operations.add(append_of("two"));
  const auto all = operations.all();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->back().session, "two");
}

TEST_F(OperationsInFolder, AFailedWriteJoinsNoOtherLine) {
  Operations operations(folder(), disk);
  operations.add(append_of("one"));
  disk.arm(testing::Fault::short_write, 1, 2);
  operations.add(append_of("torn"));
  disk.disarm();
  operations.add(append_of("two"));
  const auto all = operations.all();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->back().session, "two");
}

TEST_F(OperationsInFolder, ThoseMadeTogetherAreOneUntilTakenBack) {
  Operations operations(folder(), disk);
  operations.add(append_of("alone"));
  {
    const Operations::Together together(operations, "prune");
    operations.add(append_of("a"));
    operations.add(append_of("b"));
  }
  operations.add(append_of("after"));
  auto groups = grouped_operations(*operations.all());
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[1].parts.size(), 2U);
  EXPECT_EQ(groups[1].first().verb, "prune");
  Operation undone = append_of("");
  undone.undoes = groups[1].first().id;
  operations.add(undone);
  groups = grouped_operations(*operations.all());
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_TRUE(groups[1].is_undone);
  EXPECT_FALSE(groups[2].is_undone);
  EXPECT_THAT(operations_text(groups), ::testing::HasSubstr("prune  2 sessions  taken back\n"));
}

}  // namespace
}  // namespace arborfs
