// Content and LogSource: bytes by position.
#include <unistd.h>

#include <atomic>

#include "core/entry/content.h"
#include "core/formats/omp/log/reader.h"
#include "core/log/log_file.h"
#include "core/log/log_stretches.h"
#include "tests/unit/log_test_support.h"

namespace arborfs {
namespace {

TEST(Content, JoinsTextRangesAndRenderedParts) {
  const auto log = log_from_bytes("0123456789");
  Content content;
  content.add_text("a");
  content.add_text("b");
  content.add_range(log, 2, 3);
  content.add_range(log, 5, 2);
  content.add_rendered(4, [] { return Result<std::string>("WXYZ"); });
  content.add_text("!");
  const std::string all = "ab23456WXYZ!";
  EXPECT_EQ(content.size(), all.size());
  for (std::size_t from = 0; from <= all.size() + 1; ++from) {
    for (std::size_t count = 0; count <= all.size() + 1; ++count) {
      EXPECT_EQ(*content.read(from, count), from < all.size() ? all.substr(from, count) : "");
    }
  }
}

TEST(Content, RendersOnceWhenReadPieceByPiece) {
  std::atomic<int> rendered = 0;
  Content content;
  content.add_rendered(1000, [&rendered] {
    ++rendered;
    return Result<std::string>(std::string(1000, 'r'));
  });
  for (std::uint64_t at = 0; at < 1000; at += 10) {
    EXPECT_EQ(content.read(at, 10)->size(), 10U);
  }
  EXPECT_EQ(rendered, 1);
  EXPECT_EQ(content.read(0, 1000)->size(), 1000U);
  EXPECT_EQ(rendered, 2);
}

TEST(Content, IsStaleWhenItsSourceChanged) {
  Content short_log;
  short_log.add_range(log_from_bytes("abc"), 1, 5);
  EXPECT_EQ(short_log.read_all().error().code, Errc::stale);
  Content other_size;
  other_size.add_rendered(3, [] { return Result<std::string>("four"); });
  EXPECT_EQ(other_size.read_all().error().code, Errc::stale);
}

class LogFiles : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/arborfs-log-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::shared_ptr<const LogSource> open(std::string_view bytes) {
    std::ofstream(folder_ / "log", std::ios::binary) << bytes;
    auto log = LogFile::open(*Dir::open_root(folder_), "log");
    EXPECT_TRUE(log.has_value());
    return *log;
  }
  std::filesystem::path folder_;
};

TEST(LogStretches, AreTheBytesOfTheirPlacesWhereverTheyStand) {
  const auto log = log_from_bytes("0123456789abcdefghij");
  using Places = std::vector<LogStretches::Place>;
  for (const Places& places :
       {Places{{2, 3}, {6, 4}}, Places{{15, 2}, {0, 1}}, Places{{3, 3}}, Places{{5, 0}, {1, 2}}}) {
    const auto read = LogStretches::read(*log, places);
    ASSERT_TRUE(read);
    for (std::size_t at = 0; at < places.size(); ++at) {
      EXPECT_EQ((*read)[at], *log->read(places[at].offset, places[at].length)) << at;
    }
  }
  EXPECT_EQ(LogStretches::read(*log, {{0, 4}, {18, 3}}).error().code, Errc::stale);
  EXPECT_EQ(LogStretches::read(*log, {{15, 3}, {18, 3}}).error().code, Errc::stale);
}

TEST_F(LogFiles, GrowingFilesAreReadAndSpliced) {
  const auto log = open("abc");
  std::ofstream(folder_ / "log", std::ios::app) << "def";
  EXPECT_EQ(*log->size(), 6U);
  EXPECT_EQ(log->opened().size, 3U);
  EXPECT_EQ(*log->read(2, 3), "cde");
  EXPECT_EQ(log->read(5, 3).error().code, Errc::stale);
  Content content;
  content.add_text("x");
  content.add_range(log, 1, 4);
  EXPECT_EQ(content.stretch_at(0, 9).fd, -1);
  const auto stretch = content.stretch_at(2, 9);
  EXPECT_EQ(stretch.fd, log->splice_file()->fd());
  EXPECT_EQ(stretch.offset, 2U);
  EXPECT_EQ(stretch.length, 3U);
}

TEST_F(LogFiles, Utf16IsDecoded) {
  const auto log = open(std::string_view("\xFF\xFEh\0i\0", 6));
  EXPECT_TRUE(log->is_decoded());
  EXPECT_EQ(*log->read(0, 2), "hi");
  EXPECT_EQ(log->splice_file(), nullptr);
  std::string raw(6, '\0');
  EXPECT_EQ(*log->read_raw_at(0, raw), 6U);
  EXPECT_EQ(raw[0], '\xFF');
}

TEST_F(LogFiles, HeadThatGrowsInDecodingIsReadWhole) {
  const std::string title(300, '\x4E');  // U+4E4E takes two bytes as UTF-16, three as UTF-8
  std::string bytes = "\xFF\xFE";
  const auto add = [&bytes](std::string_view ascii) {
    for (const char c : ascii) {
      bytes += {c, '\0'};
    }
  };
  add(R"({"type":"session","version":3,"id":"s","title":")");
  bytes += title;
  add("\"}\n");
  const auto log = open(bytes);
  const auto header = omp::read_header(*log);
  ASSERT_TRUE(header.has_value());
  EXPECT_TRUE(header->valid) << header->problem;
  EXPECT_EQ(header->title.size(), 450U);
}

}  // namespace
}  // namespace arborfs
