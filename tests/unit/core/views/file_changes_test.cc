// What a diff of a session's changes says, and what it says that it does not know.
#include "core/views/file_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/views/session_changes.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FileChangesTest : public ::testing::Test {
 protected:
  void edit(Ordinal entry, const std::string& before, const std::string& after, bool is_all = false) {
    const EditedText edited{before, after, is_all};
    changes.edit({entry, "/w/f"}, {&edited, 1});
  }
  void patch(Ordinal entry, const std::string& lines, const std::string& moved_to = "") {
    for (const PatchedFile& file : files_of_patch("*** Begin Patch\n" + lines + "\n*** End Patch")) {
      changes.patch({entry, file.path}, file, moved_to);
    }
  }
  std::vector<DiffPart> parts() { return std::move(changes).take(); }
  FileChanges changes;
};

TEST_F(FileChangesTest, AFileThatIsKnownHasOneDiff) {
  changes.found({1, "/w/f"}, "a\nb\nc");
  edit(1, "b", "x");
  edit(3, "a\nx", "y");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].diff, "--- a/w/f\n+++ b/w/f\n@@ -1,3 +1,2 @@\n-a\n-b\n+y\n c\n\\ No newline at end of file\n");
  EXPECT_THAT(parts[0].entries, ElementsAre(1, 3));
  EXPECT_THAT(parts[0].notes, IsEmpty());
}

TEST_F(FileChangesTest, AFileThatIsAsItWasHasNone) {
  changes.found({1, "/w/f"}, "a\n");
  edit(1, "a", "b");
  edit(2, "b", "a");
  changes.found({3, "/w/g"}, std::nullopt);
  changes.write({3, "/w/g"}, "x");
  patch(4, "*** Delete File: /w/g");
  EXPECT_THAT(parts(), IsEmpty());
}

TEST_F(FileChangesTest, WhatAWriteReplacedIsNotKnown) {
  changes.write({2, "/w/f"}, "a\n");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].diff, "--- /dev/null\n+++ b/w/f\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_THAT(parts[0].notes,
              ElementsAre("what it held before entry 2, if it was there, is not recorded: shown as a new file"));
}

TEST_F(FileChangesTest, AnEditOfAFileThatIsNotKnownHasItsLines) {
  edit(2, "a\nb\nc", "a\nx\nc");
  edit(3, "d\n", "");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].diff, "--- a/w/f\n+++ b/w/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
  EXPECT_THAT(parts[0].notes, ElementsAre(HasSubstr("the numbers of its lines are not recorded")));
  EXPECT_EQ(parts[1].diff, "--- a/w/f\n+++ b/w/f\n@@ -1,1 +1,0 @@\n-d\n");
}

TEST_F(FileChangesTest, AnEditOfPlacesThatAreNotKnownIsOnlyTold) {
  edit(2, "old\nname", "new", true);
  edit(3, "line\n", "joins the next");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].diff + parts[1].diff, "");
  EXPECT_THAT(parts[0].notes,
              ElementsAre("each place with this text was replaced; where is not recorded:", "-old", "-name", "+new"));
  EXPECT_THAT(parts[1].notes,
              ElementsAre("this text was replaced; the lines around it are not recorded:", "-line", "+joins the next"));
}

TEST_F(FileChangesTest, AnEditThatDoesNotFitEndsWhatIsKnown) {
  changes.found({1, "/w/f"}, "a\na\nb\n");
  edit(1, "b", "c");
  edit(2, "a", "x");  // twice there
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(parts[0].diff, HasSubstr("+c"));
  EXPECT_THAT(parts[1].notes, ElementsAre(HasSubstr("entry 2 changed it, but not the text that is known")));
  EXPECT_THAT(parts[2].diff, HasSubstr("-a\n+x\n"));
}

TEST_F(FileChangesTest, LineEndsOfAnotherKindAreNotGuessed) {
  changes.found({1, "/w/f"}, "a\r\nb\r\n");
  edit(1, "a", "x");
  edit(2, "x", "y\nz");
  const auto parts = this->parts();
  EXPECT_THAT(parts.front().diff, HasSubstr("+x\r\n"));
  EXPECT_THAT(parts.at(1).notes, ElementsAre(HasSubstr("not the text that is known")));
}

TEST_F(FileChangesTest, AChangeBySomethingElseIsSaid) {
  changes.found({1, "/w/f"}, "a\n");
  edit(1, "a", "b");
  changes.found({5, "/w/f"}, "b \n");
  edit(5, "b", "c");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_THAT(parts[0].diff, HasSubstr("-a\n+b\n"));
  EXPECT_THAT(parts[1].diff, HasSubstr("-b \n+c \n"));
  EXPECT_THAT(parts[1].notes, ElementsAre("something else changed it after entry 1: how is not recorded"));
}

TEST_F(FileChangesTest, AFileThatIsRemovedUnreadIsSaid) {
  patch(2, "*** Delete File: /w/f");
  patch(3, "*** Add File: /w/f\n+new");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(parts[0].notes, ElementsAre("entry 2 removed it; what it held is not recorded"));
  EXPECT_EQ(parts[0].diff, "--- /dev/null\n+++ b/w/f\n@@ -0,0 +1,1 @@\n+new\n");
}

TEST_F(FileChangesTest, AFileThatIsKnownMovesAsTwo) {
  changes.found({1, "/w/f"}, "a\n");
  patch(1, "*** Update File: /w/f\n*** Move to: g\n@@\n-a\n+b", "/w/g");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].diff, "--- a/w/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
  EXPECT_EQ(parts[1].diff, "--- /dev/null\n+++ b/w/g\n@@ -0,0 +1,1 @@\n+b\n");
}

TEST_F(FileChangesTest, AFileThatIsNotKnownMovesAtTheEnd) {
  patch(1, "*** Update File: /w/f\n*** Move to: g\n@@\n-a\n+b", "/w/g");
  patch(2, "*** Update File: /w/g\n@@\n-c\n+d");
  changes.write({3, "/w/f"}, "again\n");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_THAT(parts[1].diff, HasSubstr("--- a/w/f\n"));
  EXPECT_EQ(parts[1].path, "/w/g");
  EXPECT_THAT(parts[2].notes, ElementsAre(HasSubstr("the file of this name moved to /w/g"), HasSubstr("new file")));
  EXPECT_EQ(parts[3].diff, "diff --git a/w/f b/w/g\nrename from w/f\nrename to w/g\n");
}

TEST_F(FileChangesTest, LinesAtTheEndOfAFileThatIsNotKnownAreOnlyTold) {
  patch(1, "*** Update File: /w/f\n@@\n+last");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].diff, "");
  EXPECT_THAT(parts[0].notes, ElementsAre(HasSubstr("added at its end"), "+last"));
}

TEST_F(FileChangesTest, APatchIsLooseAboutWhiteSpaceButNotAboutLines) {
  changes.found({1, "/w/f"}, "  a \nb\n");
  patch(1, "*** Update File: /w/f\n@@\n a\n-b\n+c");
  patch(2, "*** Update File: /w/f\n@@\n-nowhere\n+c");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(parts[0].diff, HasSubstr("-  a \n-b\n+a\n+c\n"));
  EXPECT_THAT(parts[1].notes, ElementsAre(HasSubstr("patched other lines than are known")));
}

TEST_F(FileChangesTest, OddNamesAreQuotedAsByGit) {
  changes.write({1, "/w/a \"b\"\\\n\x01"}, "x\n");
  changes.write({1, "/w/a b"}, "x\n");
  changes.write({1, "/w/e f"}, "");
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(parts[0].diff, HasSubstr("+++ \"b/w/a \\\"b\\\"\\\\\\012\\001\"\n"));
  EXPECT_THAT(parts[1].diff, HasSubstr("+++ b/w/a b\t\n"));
  EXPECT_EQ(parts[2].diff, "diff --git \"a/w/e f\" \"b/w/e f\"\nnew file mode 100644\n");
}

TEST_F(FileChangesTest, ABinaryFileIsOnlyNamed) {
  changes.write({1, "/w/f"}, std::string("a\0b", 3));
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].diff, "");
  EXPECT_THAT(parts[0].notes.back(), "it is binary: its change is not shown");
}

TEST_F(FileChangesTest, NumberedLinesAreHunks) {
  EXPECT_TRUE(changes.lines({1, "/w/f"}, "   ...\n  8 a\n- 9 b\n+ 9 c\n+10 d\n 10 e\n    ...\n-20 f\n 21 g"));
  EXPECT_FALSE(changes.lines({1, "/w/f"}, "-9 b\n+11 c"));
  EXPECT_FALSE(changes.lines({1, "/w/f"}, "@@ -1 +1 @@"));
  EXPECT_FALSE(changes.lines({1, "/w/f"}, ""));
  EXPECT_FALSE(changes.lines({1, "/w/f"}, "+1 a\n    ...\n+1 b"));
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].diff, "--- a/w/f\n+++ b/w/f\n@@ -8,3 +8,4 @@\n a\n-b\n+c\n+d\n e\n@@ -20,2 +21,1 @@\n-f\n g\n");
}

TEST_F(FileChangesTest, MoreThan64MiBAreCountedAndLeftOut) {
  changes.found({1, "/w/f"}, "a\n");
  edit(1, "a", "b");
  changes.write({2, "/w/f"}, std::string(std::size_t{65} << 20U, 'x'));
  edit(3, "b", "c");
  EXPECT_EQ(changes.left_out(), 1U);
  const auto parts = this->parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_THAT(parts[0].diff, HasSubstr("+b\n"));
  EXPECT_THAT(parts[1].notes, ElementsAre(HasSubstr("numbers of its lines")));
}

TEST(ChangesDiff, NamesWhatCommandsMayHaveChanged) {
  SessionChanges changes;
  changes.commands = {3, 9};
  changes.left_out = 1;
  changes.changes.push_back({"/w/f\x1b[31m", {4}, {"a note\nof two lines"}, ""});
  EXPECT_EQ(changes_diff(changes),
            "# What 2 commands changed is not recorded (entries 3, 9): see commands.txt\n"
            "# 1 entry or change too long to be looked at\n\n"
            "# /w/f^[[31m · entry 4\n# a note of two lines\n");
  EXPECT_EQ(changes_diff({}), "");
}

}  // namespace
}  // namespace arborfs
