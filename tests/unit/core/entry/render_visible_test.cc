#include <gtest/gtest.h>

#include <string>

#include "core/entry/text.h"
#include "core/entry/value_text.h"

namespace arborfs {
namespace {

TEST(Visible, ShowsControlCharacters) {
  EXPECT_EQ(visible("a\x1B[31m\x07"), "a^[[31m^G");
  EXPECT_EQ(visible(std::string("\0\r\n\t\x7F", 5)), "^@^M\n\t^?");
  EXPECT_EQ(visible("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"), "\\u{80}\\u{9b}\\u{9f}\xC2\xA0");
}

TEST(Visible, ShowsInvisibleCharacters) {
  EXPECT_EQ(visible("\u202e\u2066\u200b\u200f\ufeff\u061c"), "\\u{202e}\\u{2066}\\u{200b}\\u{200f}\\u{feff}\\u{61c}");
  EXPECT_EQ(visible("\U000E0041"), "\\u{e0041}");
}

TEST(Visible, LeavesReadableTextAlone) {
  const std::string text = "é 日本 한국어 Việt “quoted” – ▓ ✓ 👨\u200d👩\u200d👧 \U0001F600\n\ttabbed";
  EXPECT_EQ(visible(text), text);
}

TEST(Visible, RepairsInvalidUtf8) {
  EXPECT_EQ(visible("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(visible("\xED\xA0\x80!"), "\uFFFD!");
  EXPECT_EQ(visible("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(visible("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(visible("\x9B\x32J\x1B\xFF"), "\uFFFD2J^[\uFFFD");
}

TEST(Visible, FindsACharacterAtEveryPositionOfABlock) {
  for (std::size_t size = 1; size < 150; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      text[at] = '\x1B';
      std::string expected(size, 'x');
      expected.replace(at, 1, "^[");
      ASSERT_EQ(visible(text), expected) << size << " " << at;
      std::string wide = std::string(at, 'x') + "\u202e" + std::string(size - at, '\n');
      ASSERT_EQ(visible(wide), std::string(at, 'x') + "\\u{202e}" + std::string(size - at, '\n'));
    }
  }
}

TEST(Visible, SpecialBytesStopTheFastPath) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string text(128, 'x');
    text[101] = static_cast<char>(byte);
    chars::CareSearch search(text);
    EXPECT_EQ(search.next(0), chars::TextPolicy::kCare[byte] ? 101U : text.size()) << byte;
  }
}

TEST(VisibleLine, IsOneLineOfLimitedLength) {
  EXPECT_EQ(visible_line("a\nb\tc", 10), "a b c");
  EXPECT_EQ(visible_line("日本語テキスト", 4), "日本語…");
  EXPECT_EQ(visible_line("abcd", 4), "abcd");
  EXPECT_EQ(visible_line("abcde", 4), "abc…");
  EXPECT_EQ(visible_line("abc", 0), "");
  EXPECT_EQ(visible_line("abc", 1), "…");
  EXPECT_EQ(visible_line("\x1B[2J\xFF", 80), "^[[2J\uFFFD");
  EXPECT_EQ(visible_line(std::string(1'000'000, 'x'), 3), "xx…");
}

TEST(CountLines, AgreesWithPrefixedOutput) {
  const auto check = [](const std::string& text) {
    std::string whole;
    StringSink string(whole);
    put_prefixed(string, "> ", text);
    CountingSink count;
    put_prefixed(count, "> ", text);
    ASSERT_EQ(count.size(), whole.size()) << text.size();
  };
  for (unsigned pattern = 0; pattern < 4096; ++pattern) {
    std::string text;
    for (unsigned i = 0; i < 12; ++i) {
      text += (pattern >> i) & 1U ? "\n" : "x";
    }
    check(text);
    check(std::string(pattern % 70, 'y') + text);
    check(std::string(pattern % 70, '\n') + text);
  }
  check("");
  check(std::string(100'000, '\n'));
  check(std::string(100'000, 'x') + "\n\n");
}

TEST(FenceProbe, FindsTheLongestRun) {
  FenceProbe probe;
  EXPECT_EQ(probe.fence(), "```");
  probe.raw("a ``");
  probe.raw("`` b");
  EXPECT_EQ(probe.fence(), "`````");
}

}  // namespace
}  // namespace arborfs
