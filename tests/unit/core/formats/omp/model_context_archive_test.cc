// History that 18 keeps as images: which of them are shown if not all fit into one request.

#include <gtest/gtest.h>

#include <string>

#include "core/formats/omp/context/context_compaction.h"

namespace arborfs::omp {
namespace {

std::string frame(const std::string& data, const std::string& more = "") {
  return R"({"data":")" + data + R"(","mimeType":"image/png","cols":80,"rows":40,"chars":10)" + more + "}";
}

ArchiveBlocks blocks_of(const std::string& frames, const std::string& rest) {
  json::Document archive;
  EXPECT_TRUE(json::parse("{\"frames\":[" + frames + "]," + rest + "}", archive));
  return archive_blocks(&archive, nullptr);
}

TEST(ContextArchive, MissingArchiveGivesNoBlocks) {
  EXPECT_EQ(archive_blocks(nullptr, nullptr).blocks, "");
  json::Document text;
  ASSERT_TRUE(json::parse("\"text\"", text));
  EXPECT_EQ(archive_blocks(&text, nullptr).blocks, "");
}

TEST(ContextArchive, LineBreakSymbolsAndInkCodesAreDecoded) {
  EXPECT_EQ(blocks_of("", "\"textHead\":\"a\u23CEb\\u000ec\\u000f\"").blocks, R"([{"type":"text","text":"a\nbc"}])");
}

TEST(ContextArchive, InvalidFramesAreNotShown) {
  EXPECT_EQ(blocks_of(R"({"data":"","mimeType":"image/png","cols":1,"rows":1,"chars":1},{"data":"AAAA"})",
                      "\"textTail\":\"end\"")
                .blocks,
            R"([{"type":"text","text":"end"}])");
}

TEST(ContextArchive, FramesStandBetweenHeadAndTail) {
  const auto made = blocks_of(frame("AAAA", R"(,"detail":"high")"), R"("textHead":"head","textTail":"tail")");
  EXPECT_EQ(made.images, R"([{"type":"image","data":"AAAA","mimeType":"image/png","detail":"high"}])");
  EXPECT_EQ(made.blocks, R"([{"type":"text","text":"head\n-------------- imaged middle below\n"},)"
                         R"({"type":"image","data":"AAAA","mimeType":"image/png","detail":"high"},)"
                         R"({"type":"text","text":"-------------- imaged middle above\ntail"}])");
}

TEST(ContextArchive, TruncatedMiddleIsNoted) {
  EXPECT_EQ(blocks_of("", R"("textHead":"head","textTail":"tail","truncatedChars":5)").blocks,
            R"([{"type":"text","text":"head\n-------------- middle history omitted above\ntail"}])");
}

TEST(ContextArchive, NewestFramesAreShownAndTheRestCounted) {
  const std::string large(2'000'000, 'A');
  const auto one_left = blocks_of(frame(large) + "," + frame("BBBB"), R"("textHead":"head")");
  EXPECT_NE(one_left.images.find("BBBB"), std::string::npos);
  const auto two = blocks_of(frame(large) + "," + frame(large) + "," + frame("BBBB"), R"("textHead":"head")");
  EXPECT_LT(two.images.size(), 2'100'000U);
  EXPECT_NE(two.blocks.find("1 archived image frame (2.0 MB base64) exceeded"), std::string::npos);
}

TEST(ContextArchive, NoticeReplacesFramesThatDoNotFit) {
  const std::string too_large(3'000'001, 'A');
  const auto alone = blocks_of(frame(too_large), R"("x":1)");
  EXPECT_EQ(alone.images, "");
  EXPECT_TRUE(alone.blocks.starts_with(R"([{"type":"text","text":"-------------- snapcompact image middle omitted)"));
  const auto several = blocks_of(frame(too_large) + "," + frame(too_large), R"("textHead":"head","textTail":"tail")");
  EXPECT_NE(several.blocks.find("2 archived image frames (6.0 MB base64)"), std::string::npos);
  EXPECT_NE(several.blocks.find("middle history omitted above"), std::string::npos);
}

}  // namespace
}  // namespace arborfs::omp
