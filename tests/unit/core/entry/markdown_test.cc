// Texts inside a Markdown document (core/entry/markdown.h). tests/conformance/transcript_markdown_test.cc asks pandoc.
#include "core/entry/markdown.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

std::string paragraphs(std::string_view text) {
  return as_markdown(text, MarkdownPlace::paragraphs);
}

TEST(Markdown, KeepsWhatIsNoDanger) {
  for (const char* text :
       {"", "Plain words.", "**bold** and *thin*, `code`, [a link](https://a.b), <https://a.b>", "- a\n- b\n\n1. c",
        "| a | b |\n|---|---|\n| 1 | 2 |", "```cpp\n# not a heading\n<div>\n```", "1. a\n\n   ```sh\n   # b\n   ```",
        "a < b, a <= b, 1 <2", "C# and #tag in the line", "`<div>` and ``[`` are code", "C:\\Users is", "> quoted"}) {
    EXPECT_EQ(paragraphs(text), text);
  }
}

// Made of what as_markdown() looks for. Where it is said to change nothing, it changes nothing; linear in time.
TEST(Markdown, PlainTextStaysAsItIsEverywhere) {
  const std::vector<std::string> pieces = {"a", " ",   "\n", "\t", "-",   "--",     "=",       "#",
                                           "`", "```", "~",  ":",  "<b>", "[",      "]",       "1.",
                                           "*", ">",   "\\", "\"", "\r",  "\u0001", "\xC3\xA4"};
  std::mt19937 random(28);
  int plain = 0;
  for (int i = 0; i < 200'000 / testing::kSanitizedShare; ++i) {
    std::string text;
    for (auto left = random() % 7; left > 0; --left) {
      text += pieces[random() % pieces.size()];
    }
    if (is_plain_markdown(text)) {
      ++plain;
      for (const auto place : {MarkdownPlace::paragraphs, MarkdownPlace::quote, MarkdownPlace::line}) {
        ASSERT_EQ(as_markdown(text, place), text);
      }
    }
  }
  EXPECT_GT(plain, 1000);
  EXPECT_TRUE(is_plain_markdown("fix the bug, please: it says \" no\"\nand - of course - \tonly `once`"));
  EXPECT_TRUE(is_plain_markdown(std::string(10'000'000, '-') + "a"));
}

TEST(Markdown, EscapesHeadings) {
  EXPECT_EQ(paragraphs("## a"), "\\## a");
  EXPECT_EQ(paragraphs("- > 1. # a"), "- > 1. \\# a");
  EXPECT_EQ(paragraphs("a\n==="), "a\n\\===");
  EXPECT_EQ(paragraphs("a\n---"), "a\n\\---");
}

TEST(Markdown, ClosesFencesAndSetsThemApart) {
  EXPECT_EQ(paragraphs("```\na"), "```\na\n```");
  EXPECT_EQ(paragraphs("~~~~\n~~~"), "~~~~\n~~~\n~~~~");
  EXPECT_EQ(paragraphs("a:\n```\nb\n```"), "a:\n\n```\nb\n```");
  EXPECT_EQ(paragraphs("```ts title=\"a\"\nb\n```"), "```ts,title=\"a\"\nb\n```");
  EXPECT_EQ(paragraphs("- ```\n## a"), "- \\`\\`\\`\n\\## a");
  EXPECT_EQ(as_markdown("```\na", MarkdownPlace::quote), "\\`\\`\\`\na");
}

TEST(Markdown, EscapesWhatWouldReachBeyondItsLine) {
  EXPECT_EQ(paragraphs("a <!-- b"), "a <\\!-- b");
  EXPECT_EQ(paragraphs("<h2>a</h2>"), "\\<h2>a\\</h2>");
  EXPECT_EQ(paragraphs("[a"), "\\[a");
  EXPECT_EQ(paragraphs("[a]: b"), "\\[a]: b");
  EXPECT_EQ(paragraphs("\\foo{"), "\\\\foo{");
  EXPECT_EQ(paragraphs("\\begin{a}"), "\\\\begin{a}");
  EXPECT_EQ(paragraphs("`a\nb` <!--"), "`a\nb` <\\!--");
  EXPECT_EQ(as_markdown("## <b", MarkdownPlace::line), "## \\<b");
}

}  // namespace
}  // namespace arborfs
