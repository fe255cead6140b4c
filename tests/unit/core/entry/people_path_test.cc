// The path of a conversation for people, and the ends of conversations (core/entry/people_path.h), in logs of omp.
#include "core/entry/people_path.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/entry/tree.h"
#include "core/formats/omp/log/reader.h"

namespace arborfs {
namespace {

using Break = PeopleStep::Break;
using Ordinals = std::vector<Ordinal>;

std::string entry(const std::string& type, const std::string& id, const std::string& parent) {
  return R"({"type":")" + type + R"(","id":")" + id + R"(",)" +
         (parent.empty() ? "" : R"("parentId":)" + parent + ",") + R"("message":{"role":"user","content":"x"}})" + "\n";
}

std::unique_ptr<LogIndex> index_of(const std::string& lines) {
  const auto log = log_from_bytes(R"({"type":"session","version":3,"id":"s","cwd":"/w"})"
                                  "\n" +
                                  lines);
  auto index = omp::reader().index(*log, {});
  EXPECT_TRUE(index);
  return std::move(*index);
}

TEST(PeoplePath, GoesOnBeforeAGapAndSaysHowMuchIsThere) {
  const auto index = index_of(entry("message", "a1", "null") + entry("message", "a2", "\"a1\"") +
                              entry("message", "a3", "\"lost\"") + entry("message", "a4", ""));
  EXPECT_EQ(path_to(*index, 3), Ordinals{3});
  const auto path = people_path(*index, 4);
  ASSERT_EQ(path.size(), 4U);
  EXPECT_EQ(path[1].before, Break::none);
  EXPECT_EQ(path[2].before, Break::gap);
  EXPECT_EQ(path[2].earlier, 2U);
  EXPECT_EQ(path[3].before, Break::gap);
  EXPECT_EQ(path[3].earlier, 1U);
  EXPECT_EQ(conversation_ends(*index, 4), Ordinals{4});
}

// A row that was written again stands where nothing was said: what came before the gap is the row before it.
TEST(PeoplePath, GoesOnBeforeAGapFromTheLastRowThatRepeatsNoOther) {
  const auto index = index_of(entry("message", "a1", "null") + entry("message", "a2", "\"a1\"") +
                              entry("message", "a1", "null") + entry("message", "a3", "\"lost\""));
  EXPECT_EQ(people_entries(*index, 4), (Ordinals{3, 2, 4}));
  EXPECT_EQ(conversation_ends(*index, 4), Ordinals{4});
  const auto later =
      index_of(entry("message", "a1", "null") + entry("message", "a2", "\"lost\"") + entry("message", "a3", "\"a2\"") +
               entry("message", "a1", "null") + entry("message", "a2", "\"lost\"") + entry("message", "a4", "\"a3\""));
  EXPECT_EQ(people_entries(*later, 6), (Ordinals{4, 5, 3, 6}));
  EXPECT_EQ(conversation_ends(*later, 6), Ordinals{6});
}

TEST(PeoplePath, HasOneBreakForACompactionOfTwoEntries) {
  const auto index = index_of(entry("message", "a1", "null") + entry("compaction", "a2", "\"a1\"") +
                              entry("compaction", "a3", "\"a2\"") + entry("message", "a4", "\"a3\""));
  const auto path = people_path(*index, 4);
  ASSERT_EQ(path.size(), 4U);
  EXPECT_EQ(path[1].before, Break::compaction);
  EXPECT_EQ(path[2].before, Break::none);
  EXPECT_EQ(path[3].before, Break::none);
}

TEST(PeoplePath, CutsCyclesAndIsEmptyForTheRoot) {
  const auto index = index_of(entry("message", "a1", "\"a2\"") + entry("message", "a2", "\"a1\""));
  EXPECT_EQ(people_entries(*index, 2), (Ordinals{1, 2}));
  EXPECT_TRUE(people_path(*index, kNoEntry).empty());
}

TEST(ConversationEnds, AreMessagesThatNoOtherFollows) {
  const auto index = index_of(entry("message", "a1", "null") + entry("message", "a2", "\"a1\"") +
                              entry("label", "a3", "\"a1\"") + entry("message", "a4", "\"a1\"") +
                              entry("model_change", "a5", "\"a4\"") + entry("message", "a6", "null"));
  EXPECT_EQ(conversation_ends(*index, 6), (Ordinals{2, 5, 6}));
  EXPECT_EQ(conversation_ends(*index, 4), (Ordinals{2, 4, 6}));
  EXPECT_EQ(conversation_ends(*index_of(entry("model_change", "a1", "null")), 1), Ordinals{1});
  EXPECT_TRUE(conversation_ends(*index_of(""), kNoEntry).empty());
}

}  // namespace
}  // namespace arborfs
