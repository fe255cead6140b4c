// Text in the columns of a terminal.
#include "core/base/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace arborfs {
namespace {

using ::testing::ElementsAre;

TEST(Columns, WideCharactersTakeTwo) {
  EXPECT_EQ(columns_of("漢字"), 4U);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U);
  EXPECT_EQ(columns_of("✅❌⚡⭐🎉🟢"), 12U) << "emoji of old blocks, and of new ones";
  EXPECT_EQ(columns_of("→✓☎…·█"), 6U) << "symbols of the same blocks that are no emoji";
  EXPECT_EQ(columns_of("שָׁלוֹם"), 4U) << "vowel points";
  EXPECT_EQ(columns_of("ที่"), 1U);
  EXPECT_EQ(columns_of("👩‍👧"), 4U) << "the joiner takes none";
  EXPECT_EQ(columns_of("한글"), 4U);
  EXPECT_EQ(cut("漢字です", 5), "漢字…");
  EXPECT_EQ(cut("short", 5), "short");
  EXPECT_EQ(cut("shorter", 5), "shor…");
  EXPECT_EQ(cut("shorter", 0), "");
}

TEST(Columns, TheMiddleIsCut) {
  EXPECT_EQ(cut_middle("Fix the flaky upload test", 25), "Fix the flaky upload test");
  EXPECT_EQ(cut_middle("Fix the flaky upload test", 16), "Fix the fl… test");
  EXPECT_EQ(cut_middle("Fix the flaky upload test", 8), "Fix the…") << "too narrow for both ends";
  const std::string wide = "漢字です漢字です漢字です漢字です";
  for (std::size_t columns = 1; columns < 40; ++columns) {
    EXPECT_LE(columns_of(cut_middle(wide, columns)), columns) << columns;
  }
}

TEST(Columns, LinesBreakAtSpaces) {
  EXPECT_THAT(lines_of_columns("one two  three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(lines_of_columns("a /long/unbroken b", 5), ElementsAre("a", "/long/unbroken", "b"));
  EXPECT_THAT(lines_of_columns("", 5), ElementsAre(""));
}

}  // namespace
}  // namespace arborfs
