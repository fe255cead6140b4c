// How omp 18 formats a prompt (tests/newest/x-notes-format shows most of it at once).
#include <gtest/gtest.h>

#include "core/formats/omp/context/context_compaction.h"

namespace arborfs::omp {
namespace {

TEST(PromptFormat, TrimsLineEnds) {
  EXPECT_EQ(formatted_prompt("a \t\n  b\xC2\xA0\n c\r"), "a\n  b\n c");
}

TEST(PromptFormat, KeepsSingleBlankLinesOnly) {
  EXPECT_EQ(formatted_prompt("a\n\nb\n \n\t\nc"), "a\n\nb\nc");
  EXPECT_EQ(formatted_prompt("\na\n"), "a");
  EXPECT_EQ(formatted_prompt("\n\n\n"), "");
  EXPECT_EQ(formatted_prompt("a\n\n  </some-tag_x>\n\n</Tag>\n\n</>"), "a\n  </some-tag_x>\n\n</Tag>\n\n</>");
}

TEST(PromptFormat, LeavesFencedCodeAlone) {
  EXPECT_EQ(formatted_prompt("a\n\n ```c\n\n\n| x | \n| y |\n```\n\n\nb"), "a\n\n ```c\n\n\n| x |\n| y |\n```\nb");
  EXPECT_EQ(formatted_prompt("~~~\n\n\n</a>"), "~~~\n\n\n</a>");
}

TEST(PromptFormat, TrimsTableCells) {
  EXPECT_EQ(formatted_prompt("  | a |  b|\n| :-- | --: | :-: | - |\n|x| y"), "  |a|b|\n|:---|---:|:---:|---|\n|x| y");
  EXPECT_EQ(formatted_prompt("|  |\n||\n|"), "||\n||\n|");
  EXPECT_EQ(formatted_prompt("| a\xE2\x80\xA8 | b |"), "| a\xE2\x80\xA8 | b |");
}

}  // namespace
}  // namespace arborfs::omp
