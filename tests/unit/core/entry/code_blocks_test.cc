#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/entry/text.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> blocks_of(std::string_view markdown) {
  std::vector<std::string> found;
  for (const CodeBlock& block : code_blocks(markdown)) {
    found.push_back(block.language + "|" + block.text);
  }
  return found;
}

TEST(CodeBlocks, AreTheLinesBetweenFences) {
  EXPECT_THAT(blocks_of("Run:\n```sh\nmake\n\nmake test\n```\nor\n~~~\nninja\n~~~\n"),
              ElementsAre("sh|make\n\nmake test\n", "|ninja\n"));
  EXPECT_THAT(blocks_of("``` c++ title=\"a b\" \r\nint x;\n```"), ElementsAre("c++|int x;\n"));
  EXPECT_THAT(blocks_of("```\n```"), ElementsAre("|"));
  EXPECT_THAT(blocks_of(""), IsEmpty());
}

TEST(CodeBlocks, EndAtAFenceOfTheirKind) {
  EXPECT_THAT(blocks_of("````md\n```sh\nls\n```\n~~~~\n`````\nafter\n"), ElementsAre("md|```sh\nls\n```\n~~~~\n"));
  EXPECT_THAT(blocks_of("```\na\n``` b\nc\n"), ElementsAre("|a\n``` b\nc\n")) << "to the end of the text";
}

TEST(CodeBlocks, InAListLoseTheIndentOfTheirFence) {
  EXPECT_THAT(blocks_of("1. So:\n    ```py\n    if x:\n        y()\n  z\n    ```\n"),
              ElementsAre("py|if x:\n    y()\nz\n"));
  EXPECT_THAT(blocks_of("  ```\n\n  a\n  ```\n"), ElementsAre("|\na\n"));
}

TEST(CodeBlocks, AreNotInlineCode) {
  EXPECT_THAT(blocks_of("```one line```\n`` ` ``\n"), IsEmpty());
}

}  // namespace
}  // namespace arborfs
