// Texts inside a Markdown document (core/render/markdown.h). tests/conformance/transcript_markdown_test.cc asks pandoc.
#include "core/render/markdown.h"

#include <gtest/gtest.h>

#include <string>

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
