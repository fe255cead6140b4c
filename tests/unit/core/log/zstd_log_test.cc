// Logs that are compressed with zstd (core/log/zstd_log.h).
#include "core/log/zstd_log.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <memory>
#include <string>
#include <vector>

namespace arborfs {
namespace {

/// With a checksum, so that damage is detected wherever it is.
std::string compressed(const std::string& bytes) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size()));
  return out;
}

/// Lines that differ and do not compress well.
std::string lines(std::size_t bytes) {
  std::string text;
  for (std::uint64_t seed = 1; text.size() < bytes; ++seed) {
    text += "{\"n\":" + std::to_string(seed * 0x9E3779B97F4A7C15ULL) + "}\n";
  }
  return text;
}

Result<std::shared_ptr<const LogSource>> open(const std::string& bytes) {
  return ZstdLog::open(log_from_bytes(bytes), {});
}

std::string all_of(const LogSource& log) {
  return *log.read(0, *log.size());
}

TEST(ZstdLogTest, IsReadByPosition) {
  const std::string text = lines(1 << 20);
  const auto log = open(compressed(text));
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ(*(*log)->size(), text.size());
  EXPECT_EQ(*(*log)->read(700'000, 1000), text.substr(700'000, 1000));
  EXPECT_EQ(all_of(**log), text);
  EXPECT_TRUE((*log)->is_decoded());
  EXPECT_EQ((*log)->raw_size(), text.size());
}

TEST(ZstdLogTest, HasAllFrames) {
  const auto log = open(compressed("one\n") + compressed("two\n"));
  ASSERT_TRUE(log);
  EXPECT_EQ(all_of(**log), "one\ntwo\n");
}

TEST(ZstdLogTest, ManyOpenLogsKeepFewFiles) {
  std::vector<std::shared_ptr<const LogSource>> logs;
  for (int i = 0; i < 40; ++i) {
    logs.push_back(*open(compressed(std::to_string(i) + "\n")));
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(all_of(*logs[static_cast<std::size_t>(i)]), std::to_string(i) + "\n");
  }
}

TEST(ZstdLogTest, CutOffLogHasWhatDecodesAndSaysSo) {
  const std::string text = lines(4 << 20);
  const std::string bytes = compressed(text);
  const auto log = open(bytes.substr(0, bytes.size() / 2));
  ASSERT_TRUE(log);
  const std::string shown = all_of(**log);
  const std::size_t note = shown.rfind("\n(");
  ASSERT_NE(note, std::string::npos);
  EXPECT_GT(note, text.size() / 4);
  EXPECT_EQ(shown.substr(0, note), text.substr(0, note));
  EXPECT_EQ(shown.substr(note), "\n(the compressed file ends too early)\n");
}

TEST(ZstdLogTest, DamagedLogHasWhatDecodesAndSaysSo) {
  const std::string text = lines(4 << 20);
  std::string bytes = compressed(text);
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 200; ++i) {
    bytes[i] = static_cast<char>(~bytes[i]);
  }
  const auto log = open(bytes);
  ASSERT_TRUE(log);
  const std::string shown = all_of(**log);
  EXPECT_EQ(shown.substr(0, text.size() / 8), text.substr(0, text.size() / 8));
  EXPECT_NE(shown.find("\n(the compressed file is damaged: "), std::string::npos);
}

TEST(ZstdLogTest, NothingThatDecodesIsAnError) {
  const auto log = open("not compressed at all\n");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Errc::corrupt);
  EXPECT_FALSE(ZstdLog::open_start(*log_from_bytes("{}\n"), 1000));
}

TEST(ZstdLogTest, BombIsBounded) {
  const std::string bytes = compressed(std::string(std::size_t{100} << 20U, '\n'));
  ASSERT_LT(bytes.size(), 100'000U);
  const auto log = open(bytes);
  ASSERT_TRUE(log);
  const std::uint64_t most = ZstdLog::most_decoded(bytes.size());
  EXPECT_LT(most, std::uint64_t{90} << 20U);
  EXPECT_LT(*(*log)->size(), most + 100);
  EXPECT_NE((*log)->read(most, *(*log)->size() - most)->find("holds more than"), std::string::npos);
}

TEST(ZstdLogTest, StartIsReadAlone) {
  const std::string text = lines(8 << 20);
  const auto log = ZstdLog::open_start(*log_from_bytes(compressed(text)), 1 << 20);
  ASSERT_TRUE(log);
  EXPECT_LT(*(*log)->size(), std::uint64_t{1} << 20U);
  EXPECT_TRUE(text.starts_with(all_of(**log)));
  EXPECT_NE(all_of(**log).find('\n'), std::string::npos);
}

TEST(ZstdLogTest, DecodingCanBeInterrupted) {
  std::stop_source stop;
  stop.request_stop();
  const auto log = ZstdLog::open(log_from_bytes(compressed(lines(1 << 20))), stop.get_token());
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Errc::interrupted);
}

}  // namespace
}  // namespace arborfs
