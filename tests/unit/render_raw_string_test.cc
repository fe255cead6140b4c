// The answers of RawString about a string as spelled are true of the string that it means.
#include <gtest/gtest.h>

#include <new>
#include <random>
#include <string>
#include <vector>

#include "core/render/raw_string.h"
#include "core/render/sink.h"
#include "tests/support/failing_memory.h"

namespace arborfs {
namespace {

const std::vector<std::string> kPieces = {"a",
                                          "words ",
                                          "\\n",
                                          "\\n\\n",
                                          "\\t",
                                          "\\\"",
                                          "\\\\",
                                          "\\/",
                                          "\\r",
                                          "\\b",
                                          "\\f",
                                          "`",
                                          "``",
                                          "n",
                                          "u000a",
                                          "é",
                                          "日本",
                                          "\\u000a",
                                          "\\u000A",
                                          "\\u0060",
                                          "\\u001b[0m",
                                          "\\u0041",
                                          "\\u0009",
                                          "\\u0022",
                                          "\\u005c",
                                          "\\u200b",
                                          "\\u2014",
                                          "\\u00e9",
                                          "\\ud83d\\ude00",
                                          "\\uD83D\\uDE00",
                                          "\\ud800",
                                          "\\udc00",
                                          "\\udb40\\udc21",
                                          "\\u007f",
                                          "\\u0080",
                                          "\x7F",
                                          "\xC2\x9B",
                                          "\xC2\xA0",
                                          "\xE2\x80\xAE",
                                          "\xE2\x80\x90",
                                          "\xE2\x80\x8F",
                                          "\xE2\x80\xA7",
                                          "\xE2\x80\xA8",
                                          "\xE2\x81\xA0",
                                          "\xE2\x82\x80",
                                          "\xE2\x80\xA6",
                                          "\xE2\x80\x8D",
                                          "\xE1\xA0\x8E",
                                          "\xEF\xBB\xBF",
                                          "\xED\x95\x9C",
                                          "\xF3\xA0\x80\xA1",
                                          "\xD8\x9C",
                                          "0123456789012345678901234567890123456789012345678901234567890123456789"};

/// A string between others of similar text, so that it can start and end anywhere.
struct Sample {
  explicit Sample(std::mt19937& random) {
    const auto piece = [&random] { return kPieces[random() % kPieces.size()]; };
    // Some are near the end of a block that is classified at once (2,048 bytes), some near multiples of 64.
    const std::size_t before = random() % 4 == 0 ? 2048 * (1 + random() % 2) - random() % 140 : random() % 70;
    bytes = "[\"" + std::string(before, 'b') + piece() + "\",\"";
    const std::size_t begin = bytes.size();
    for (std::size_t i = random() % 14; i > 0; --i) {
      bytes += piece();
    }
    const std::size_t size = bytes.size() - begin;
    bytes += "\",\"" + piece() + piece() + "\"]";
    const std::size_t length = bytes.size();
    bytes += std::string(RawText::kPadding, '\\');
    const std::string_view whole = std::string_view(bytes).substr(0, length);
    EXPECT_TRUE(text.read(whole)) << whole;
    spelled = RawString(text, whole.substr(begin, size));
    meant = *skim::string_value('"' + bytes.substr(begin, size) + '"');
  }

  std::string bytes;
  RawText text;
  RawString spelled;
  std::string meant;
};

template <class Policy>
std::size_t scanned_size(std::string_view wtf8) {
  std::size_t size = 0;
  chars::scan<Policy>(wtf8, [&size](std::string_view piece) { size += piece.size(); });
  return size;
}

void check(std::mt19937& random) {
  const Sample sample(random);
  const RawString& spelled = sample.spelled;
  const std::string& meant = sample.meant;
  EXPECT_EQ(spelled.decoded(), meant);
  EXPECT_EQ(spelled.empty(), meant.empty());
  EXPECT_EQ(spelled.shown_size<chars::TextPolicy>(), scanned_size<chars::TextPolicy>(meant));
  EXPECT_EQ(spelled.shown_size<chars::LinePolicy>(), scanned_size<chars::LinePolicy>(meant));
  EXPECT_EQ(spelled.shown_size<chars::JsonPolicy>(), scanned_size<chars::JsonPolicy>(meant));
  EXPECT_EQ(spelled.has_newline(), has_newline(meant));
  EXPECT_EQ(spelled.has_number('`') || spelled.literal().find('`') != std::string_view::npos,
            meant.find('`') != std::string::npos);
  EXPECT_EQ(spelled.without_end_newlines().decoded(), without_end_newlines(meant));
  if (!spelled.has_number('\n')) {
    const chars::LineCount counted = chars::count_lines(meant);
    EXPECT_EQ(spelled.lines().all, counted.all);
    EXPECT_EQ(spelled.lines().empty, counted.empty);
  }
  CountingSink prefixed;
  CountingSink wanted;
  put_prefixed(prefixed, "> ", spelled);
  put_prefixed(wanted, "> ", std::string_view(meant));
  EXPECT_EQ(prefixed.size(), wanted.size());
  FenceProbe probe;
  FenceProbe wanted_probe;
  put_text(probe, spelled);
  put_text(wanted_probe, std::string_view(meant));
  EXPECT_EQ(probe.fence(), wanted_probe.fence());
}

TEST(RawString, PropertiesMatchTheDecodedString) {
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    std::mt19937 random(seed);
    check(random);
    if (HasFailure()) {
      std::mt19937 again(seed);
      FAIL() << "seed " << seed << ": " << Sample(again).spelled.literal();
    }
  }
}

TEST(RawString, InvalidEscapesAreReported) {
  for (const char* const bad : {R"(["\q"])", R"(["\u12g4"])", R"(["\\\x"])"}) {
    const std::string bytes = bad + std::string(RawText::kPadding, ' ');
    RawText text;
    EXPECT_FALSE(text.read(std::string_view(bytes).substr(0, bytes.size() - RawText::kPadding))) << bad;
  }
}

TEST(RawString, OutOfMemoryDoesNotAffectTheNextText) {
  std::string bytes = "[\"";
  for (int i = 0; i < 30'000; ++i) {
    bytes += "\\n";
  }
  bytes += "\"]" + std::string(RawText::kPadding, ' ');
  const std::string_view whole = std::string_view(bytes).substr(0, bytes.size() - RawText::kPadding);
  for (std::size_t skipped = 0; skipped < 3; ++skipped) {  // three tables of bits
    RawText text;
    {
      const testing::FailingMemory memory(skipped, 1000);
      EXPECT_THROW(static_cast<void>(text.read(whole)), std::bad_alloc);
    }
    ASSERT_TRUE(text.read(whole));
    EXPECT_EQ(RawString(text, whole.substr(2, whole.size() - 4)).shown_size<chars::TextPolicy>(), 30'000U);
  }
}

TEST(RawString, DefaultStringIsEmpty) {
  const RawString none;
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none == "");
  EXPECT_FALSE(none == "a");
  EXPECT_FALSE(none.has_newline());
  EXPECT_EQ(none.shown_size<chars::TextPolicy>(), 0U);
  EXPECT_TRUE(none.without_end_newlines().empty());
}

TEST(RawString, ComparisonIgnoresEscaping) {
  EXPECT_TRUE(skim::means("text", "text"));
  EXPECT_TRUE(skim::means("te\\u0078t", "text"));
  EXPECT_TRUE(skim::means("\\u0074ext", "text"));
  EXPECT_FALSE(skim::means("te\\u0079t", "text"));
  EXPECT_FALSE(skim::means("texts", "text"));
  EXPECT_FALSE(skim::means("\\t", "t"));
  EXPECT_TRUE(skim::means("", ""));
}

}  // namespace
}  // namespace arborfs
