// Large and hostile logs: memory per entry, depth, time.
#include <chrono>

#include "core/formats/omp/log/reader.h"
#include "tests/unit/log_test_support.h"

namespace arborfs::omp {
namespace {

using test::build;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kHeader = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
constexpr std::string_view kEntryTail = ",\"message\":{\"role\":\"user\"}}\n";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string hex_id(std::uint32_t number) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", number);
  return text;
}

// A chain of entries with random-looking ids, as the agents make them.
std::string chain(std::uint32_t count) {
  std::string bytes(kHeader);
  std::string parent = "null";
  for (std::uint32_t i = 1; i <= count; ++i) {
    const std::string id = "\"" + hex_id(i * 2654435761U) + "\"";
    bytes += "{\"type\":\"message\",\"id\":" + id + ",\"parentId\":" + parent;
    bytes += kEntryTail;
    parent = id;
  }
  return bytes;
}

TEST(LogLimits, EntriesTakeAtMost64Bytes) {
  const auto index = build(chain(1'000'000));
  ASSERT_EQ(index->size(), 1'000'000U);
  EXPECT_LE(index->memory_bytes(), 64'000'000U);
  RecordProperty("bytes_an_entry", static_cast<int>(index->memory_bytes() / 1'000'000));
  EXPECT_EQ(index->tip_count(), 1U);
  EXPECT_EQ(index->tips(), std::vector<Ordinal>{1'000'000});
  EXPECT_EQ(index->parent(1'000'000), 999'999U);
  EXPECT_EQ(index->find(hex_id(2654435761U * 77U)), 77U);
  EXPECT_EQ(index->find_prefix(hex_id(2654435761U), 5), std::vector<Ordinal>{1});
}

TEST(LogLimits, SmallLogTakesLittleMemory) {
  EXPECT_LE(build(chain(10))->memory_bytes(), 4096U);
}

TEST(LogLimits, MillionOpenBracketsAreOneUnfinishedValue) {
  const auto index = build(std::string(kHeader) + std::string(1'000'000, '['));
  EXPECT_EQ(index->size(), 0U);
  ASSERT_EQ(index->damage().size(), 1U);
  EXPECT_EQ(index->damage()[0].kind, Damage::Kind::unfinished);
  EXPECT_EQ(index->damage()[0].length, 1'000'000U);
  EXPECT_TRUE(index->damage()[0].in_progress);
}

TEST(LogLimits, MillionNestedArraysAreOneEntry) {
  const std::string deep =
      "{\"id\":\"deep\",\"x\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}\n";
  const auto index = build(std::string(kHeader) + deep);
  ASSERT_EQ(index->size(), 1U);
  EXPECT_EQ(index->find("deep"), 1U);
}

TEST(LogLimits, QuadraticAttackIsAbandoned) {
  std::string bytes(kHeader);
  for (int i = 0; i < 300'000; ++i) {
    bytes += "[1,\n";
  }
  bytes += "}\n";
  const auto start = Clock::now();
  const auto index = build(bytes);
  EXPECT_LT(seconds_since(start), 60);
  ASSERT_FALSE(index->damage().empty());
  EXPECT_EQ(index->damage().back().kind, Damage::Kind::too_tangled);
  auto growth = index->read_growth(*log_from_bytes(bytes + "{}\n"));
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(*growth, nullptr);
}

// Longer than the fast path takes, than a window, and than what may be loaded.
TEST(LogLimits, GiantLinesAreReadInPieces) {
  const std::string giant = std::string(R"({"type":"message","id":"0000000g","message":{"content":")") +
                            std::string(40'000'000, 'x') +
                            R"(","role":"assistant"},"parentId":"p","timestamp":"2026-02-16T10:20:30.000Z"})";
  const auto log = log_from_bytes(std::string(kHeader) + giant + " \r\n" + giant + "garbage\n{\"id\":1}\n");
  const auto index = build(*log);
  ASSERT_EQ(index->size(), 3U);
  EXPECT_EQ(index->length(1), giant.size());
  EXPECT_EQ(index->id(1).text, "0000000g");
  EXPECT_EQ(index->parent_id(1).text, "p");
  EXPECT_EQ(index->name(1), "assistant");
  EXPECT_TRUE(index->is_assistant(1));
  EXPECT_EQ(index->entry(1).timestamp_ms, 1771237230000);
  ASSERT_EQ(index->damage().size(), 1U);
  EXPECT_EQ(index->damage()[0].kind, Damage::Kind::fused);
  EXPECT_TRUE(index->has_duplicate_ids());
}

TEST(LogLimits, ManyDistinctTypesKeepTheirNames) {
  std::string bytes(kHeader);
  for (int i = 0; i < 70'000; ++i) {
    bytes += "{\"type\":\"t" + std::to_string(i) + "\"}\n";
  }
  const auto index = build(bytes);
  EXPECT_EQ(index->type_text(5), "t4");
  EXPECT_EQ(index->type_text(70'000), "t69999");
  EXPECT_EQ(index->name(69'000), "t68999");
}

TEST(LogLimits, CancelledScanStops) {
  std::stop_source stop;
  stop.request_stop();
  auto index = omp::reader().index(*log_from_bytes(chain(10)), stop.get_token());
  ASSERT_FALSE(index.has_value());
  EXPECT_EQ(index.error().code, Errc::interrupted);
}

TEST(LogLimits, BomOnALineOfABigLogIsNoDamage) {
  const std::string line = "\xEF\xBB\xBF{\"id\":\"b\"}\n";
  EXPECT_EQ(build(std::string(kHeader) + line)->malformed_records(), 1U);
  const std::string filler = "{\"x\":\"" + std::string(8'400'000, 'y') + "\"}\n";
  const auto big = build(std::string(kHeader) + filler + line);
  EXPECT_EQ(big->malformed_records(), 0U);
  EXPECT_EQ(big->size(), 2U);
}

TEST(LogLimits, HugeHeaderIsInvalidButEntriesAreKept) {
  const std::string header =
      "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"" + std::string(17 << 20, 'x') + "\"}\n";
  const auto index = build(header + "{\"type\":\"custom\",\"id\":\"a1\"}\n");
  EXPECT_FALSE(index->header().valid);
  EXPECT_NE(index->header().problem.find("too long"), std::string::npos) << index->header().problem;
  EXPECT_EQ(index->header().length, header.size() - 1);
  EXPECT_NE(index->find("a1"), kNoEntry);
}

}  // namespace
}  // namespace arborfs::omp
