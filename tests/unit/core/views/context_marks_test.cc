#include "core/views/context_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arborfs {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ContextMarks, StandBeforeWhatFollowsTheGap) {
  // A compaction, 6, comes first; it kept 5 and dropped 1 to 4; 7 was dropped later.
  std::vector<SentMessage> messages = {{6, "", {}}, {5, "", {}}, {8, "", {}}, {8, "", {}}};
  mark_gaps({1, 3, 4, 5, 6, 7, 8}, {5, 6, 8}, messages);
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[0].before, "");
  EXPECT_THAT(messages[1].before, HasSubstr("transcript.html#e1\">#1</a> to #4: 3 entries"));
  EXPECT_THAT(messages[2].before, StartsWith("<p class=\"break\">"));
  EXPECT_THAT(messages[2].before, HasSubstr("#7</a>: 1 entry"));
  EXPECT_EQ(messages[3].before, "");
}

TEST(ContextMarks, StandAtTheEndForTheLastEntries) {
  std::vector<SentMessage> messages = {{1, "", {}}};
  mark_gaps({1, 2, 3}, {1}, messages);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_THAT(messages[1].before, HasSubstr("#2</a> to #3: 2 entries"));
}

TEST(ContextMarks, AreNotThereWithoutGaps) {
  std::vector<SentMessage> messages = {{kNoEntry, "", {}}, {1, "", {}}};
  mark_gaps({1}, {1}, messages);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].before + messages[1].before, "");
}

Turn output(const std::string& call, const std::string& text) {
  Turn turn{Turn::Speaker::tool, {{TurnPart::Kind::tool_result, text, call}}};
  return turn;
}

TEST(ContextMarks, CountWhatOutputsHaveNot) {
  const std::vector<Turn> said = {output("a", "0123456789"), output("b", "01234")};
  EXPECT_EQ(dropped_bytes(said, output("a", "012")), 7U);
  EXPECT_EQ(dropped_bytes(said, output("b", "01234")), 0U);
  EXPECT_EQ(dropped_bytes(said, output("c", "")), 0U);
}

}  // namespace
}  // namespace arborfs
