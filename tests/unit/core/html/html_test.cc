// Texts of logs as HTML: what has a meaning is escaped, Markdown and colours become elements of arborfs alone.
#include "core/html/html.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/entry/names.h"
#include "core/html/page.h"

namespace arborfs::html {
namespace {

TEST(HtmlText, EscapesWhatHasAMeaningAndShowsWhatIsInvisible) {
  EXPECT_EQ(text("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(text("\x1b[2J"), "^[[2J");
  EXPECT_EQ(text("x\xff"), "x\xef\xbf\xbd");
}

TEST(Address, EncodesEachByteThatAnAddressCannotHave) {
  EXPECT_EQ(names::address("branches/000012-a b\"<ü/x.html"), "branches/000012-a%20b%22%3C%C3%BC/x.html");
}

TEST(HtmlMarkdown, ShowsHtmlAsText) {
  EXPECT_EQ(markdown("a <b>x</b>"), "<p>a &lt;b&gt;x&lt;/b&gt;</p>\n");
  EXPECT_EQ(markdown("<script>\nx()\n</script>"),
            "<pre tabindex=\"0\"><code>&lt;script&gt;\nx()\n&lt;/script&gt;\n</code></pre>\n");
}

TEST(HtmlMarkdown, LinksToTheWebAlone) {
  EXPECT_EQ(markdown("[x](https://e.invalid/)"),
            "<p><a rel=\"noopener noreferrer\" href=\"https://e.invalid/\">x</a></p>\n");
  EXPECT_EQ(markdown("[x](javascript:y)"), "<p>x (javascript:y)</p>\n");
  EXPECT_EQ(markdown("[src/a.cc](src/a.cc)"), "<p>src/a.cc</p>\n");
}

TEST(HtmlMarkdown, LetsTheKeyboardScrollWhatIsWide) {
  EXPECT_EQ(markdown("```c\n<pre>\n```"),
            "<pre tabindex=\"0\"><code class=\"language-c\">&lt;pre&gt;\n</code></pre>\n");
  EXPECT_EQ(markdown("|a|\n|-|"), "<table tabindex=\"0\">\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n</table>\n");
}

TEST(HtmlMarkdown, LoadsNoImage) {
  EXPECT_EQ(markdown("![a plot](http://e.invalid/p.png)"),
            "<p><a rel=\"noopener noreferrer\" href=\"http://e.invalid/p.png\">a plot</a></p>\n");
}

TEST(HtmlMarkdown, KeepsTheHeadingsOfPagesForPages) {
  EXPECT_EQ(markdown("# a\n\n###### b"), "<h3>a</h3>\n<h6>b</h6>\n");
}

TEST(HtmlMarkdown, ShowsAsItIsWhatWouldTakeLong) {
  std::string images;
  std::string table = "|a|b|c|d|\n|-|-|-|-|\n";
  for (int i = 0; i < 10'000; ++i) {
    images = "![a" + images + "](x)";
  }
  for (int i = 0; i < 20'000; ++i) {
    table += "x\n";
  }
  for (const std::string& long_one : {images.substr(0, 60'000), table, std::string(70'000, 'x')}) {
    EXPECT_EQ(markdown(long_one), "<pre class=\"plain\" tabindex=\"0\">" + text(long_one) + "</pre>\n");
  }
  EXPECT_EQ(markdown("[![b](https://i.invalid/x.png)](https://site.invalid)"),
            "<p><a rel=\"noopener noreferrer\" href=\"https://site.invalid\">b (https://i.invalid/x.png)</a></p>\n");
}

/// The text with a paragraph behind it that cmark has to make.
std::string made_by_cmark(const std::string& text) {
  const std::string last = "<p><em>x</em></p>\n";
  std::string made = markdown(text + "\n\n*x*");
  EXPECT_TRUE(made.ends_with(last)) << text;
  return made.substr(0, made.size() - last.size());
}

TEST(HtmlMarkdown, MakesOfProseWhatCmarkMakes) {
  EXPECT_EQ(markdown("He said \"so\".\nIt's > 1.\n\n\n(Or not; see 2.)\n"),
            "<p>He said &quot;so&quot;.\nIt's &gt; 1.</p>\n<p>(Or not; see 2.)</p>\n");
  const std::vector<std::string> pieces = {
      "word", "two words", " ",    "  ",     "\n", "\n\n", ".",    ",",   "\"",       "'", ">", "> ",    "-",      "- ",
      "---",  "+ ",        "1. ",  "1)",     "#",  "# ",   "=",    "===", "(",        ")", ":", "://x.", "https:", "/",
      "!",    "www.",      "x.de", "a@b.de", "é",  "\t",   "&amp", ";",   "\xc2\xa0", "{", "}", "%"};
  std::mt19937 chance(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto count = 1 + chance() % 12; count > 0; --count) {
      text += pieces[chance() % pieces.size()];
    }
    ASSERT_EQ(markdown(text), made_by_cmark(text)) << text;
  }
}

TEST(HtmlTerminal, MakesClassesOfColours) {
  EXPECT_EQ(terminal("\x1b[1;31mred\x1b[0m plain"), "<span class=\"fg1 bold\">red</span> plain");
  EXPECT_EQ(terminal("\x1b[38;5;9mx\x1b[39my"), "<span class=\"fg9\">x</span>y");
  EXPECT_EQ(terminal("\x1b[38;2;255;0;0mx"), "<span class=\"fg9\">x</span>");
  EXPECT_EQ(terminal("a\r\nb"), "a\nb");
}

TEST(HtmlTerminal, SpellsOtherSequencesOut) {
  EXPECT_EQ(terminal("\x1b]0;t\x07<"), "^[]0;t^G&lt;");
}

TEST(HtmlDiff, MarksLinesByTheirFirstCharacter) {
  EXPECT_EQ(diff("@@ -1 +1 @@\n-a\n+<b>\n c\n"),
            "<span class=\"at\">@@ -1 +1 @@\n</span><del class=\"del\">-a\n</del><ins class=\"add\">+&lt;b&gt;\n</ins>"
            "<span class=\"same\"> c\n</span>");
}

TEST(HtmlPage, NamesItsScriptsAndItsStyleByTheirHashes) {
  const std::string page = page_begin({"a <title>", "x"}) + page_end(true);
  EXPECT_NE(page.find("<title>a &lt;title&gt;</title>"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'; img-src 'self' file:; style-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page_begin({"", ""}).find("unsafe"), std::string::npos);
  for (const std::string_view script : {kPageScript, kHighlightScript, kPageStyle}) {
    EXPECT_EQ(script.find("</script"), std::string_view::npos);
    EXPECT_EQ(script.find("<!--"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace arborfs::html
