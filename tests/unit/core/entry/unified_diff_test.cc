#include "core/entry/unified_diff.h"

#include <gtest/gtest.h>

#include <string>

namespace arborfs {
namespace {

std::string diff(const std::string& before, const std::string& after) {
  return unified_diff({"a/f", "b/f"}, before, after);
}

TEST(UnifiedDiff, ShowsChangesWithThreeLinesAround) {
  EXPECT_EQ(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(diff("a\nb\n", "a\nx\nb\ny\n"), "--- a/f\n+++ b/f\n@@ -1,2 +1,4 @@\n a\n+x\n b\n+y\n");
  EXPECT_EQ(diff("same\n", "same\n"), "");
}

TEST(UnifiedDiff, JoinsCloseChangesAndPartsDistantOnes) {
  std::string before;
  for (int line = 0; line < 40; ++line) {
    before += std::to_string(line) + "\n";
  }
  std::string after = before;
  after.replace(after.find("5\n"), 1, "five");
  after.replace(after.find("\n11\n"), 4, "\neleven\n");
  after.replace(after.find("\n30\n"), 4, "\n");
  const std::string found = diff(before, after);
  EXPECT_NE(found.find("@@ -3,13 +3,13 @@\n"), std::string::npos) << found;
  EXPECT_NE(found.find("@@ -28,7 +28,6 @@\n"), std::string::npos) << found;
}

TEST(UnifiedDiff, SaysWhatIsMissing) {
  EXPECT_EQ(unified_diff({"", "b/f"}, "", "x"),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n");
  EXPECT_EQ(unified_diff({"a/f", ""}, "x\n", ""), "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
  EXPECT_EQ(diff(std::string("\0", 1), "x"), "--- a/f\n+++ b/f\nBinary files differ\n");
}

TEST(UnifiedDiff, TextsWithoutCommonLinesAreReplacedWhole) {
  std::string before;
  std::string after;
  for (int line = 0; line < 3000; ++line) {
    before += "a" + std::to_string(line) + "\n";
    after += "b" + std::to_string(line) + "\n";
  }
  const std::string found = diff(before, after);
  EXPECT_TRUE(found.starts_with("--- a/f\n+++ b/f\n@@ -1,3000 +1,3000 @@\n-a0\n"));
  EXPECT_TRUE(found.ends_with("+b2999\n"));
}

}  // namespace
}  // namespace arborfs
