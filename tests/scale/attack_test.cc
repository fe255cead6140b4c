// Bytes made to waste a reader's time or memory (FAILURES.md S8): deep brackets, lines that look unfinished and swallow
// each other, one gigantic number.
#include "core/log/log_index.h"
#include "tests/scale/scale_support.h"

namespace arborfs::scale {
namespace {

constexpr std::uint64_t kBrackets = 1'000'000 / kShrink;
constexpr std::uint64_t kAttackLines = 400'000 / kShrink;
constexpr std::uint64_t kMemoryBound = 64 << 20;
// A hostile log may take this many times as long as a harmless one of the same size, plus a second for small sizes.
constexpr double kWorse = 400;
constexpr double kSeconds = 1;

std::string repeated(std::string_view piece, std::uint64_t times) {
  std::string text;
  text.reserve(piece.size() * times);
  for (std::uint64_t i = 0; i < times; ++i) {
    text += piece;
  }
  return text;
}

double harmless_seconds(std::size_t bytes) {
  const std::string line = entry_line("00000001", "null", std::string(60, 'x'));
  const auto log = log_from_bytes(std::string(kHeaderLine) + repeated(line, bytes / line.size() + 1));
  return least_cpu_seconds(3, [&] { index_of(*log); });
}

std::unique_ptr<LogIndex> index_within_bounds(const std::string& text) {
  const double harmless = harmless_seconds(text.size());
  const auto log = log_from_bytes(text);
  std::unique_ptr<LogIndex> index;
  double built = 0;
  const std::uint64_t grown = peak_growth([&] { built = cpu_seconds([&] { index = index_of(*log); }); });
  EXPECT_LT(built, (harmless * kWorse + kSeconds) * kPatience) << "harmless " << harmless << " s";
  if (!kSanitized) {
    EXPECT_LT(grown, kMemoryBound);
  }
  ::testing::Test::RecordProperty("times_harmless", std::to_string(built / harmless));
  return index;
}

std::string between_entries(const std::string& attack) {
  return std::string(kHeaderLine) + entry_line("00000001", "null") + attack +
         entry_line("00000002", in_quotes("00000001")) + entry_line("00000003", in_quotes("00000002"));
}

TEST(Attack, MillionBracketsLoseOnlyTheirLine) {
  const auto index = index_within_bounds(between_entries(std::string(kBrackets, '[') + "\n"));
  ASSERT_TRUE(index);
  ASSERT_EQ(index->size(), 3U);
  EXPECT_EQ(index->id(2).text, "00000002");
  EXPECT_EQ(index->damage().size(), 1U);
}

TEST(Attack, BalancedBracketsAreOneRecord) {
  const auto index =
      index_within_bounds(between_entries(std::string(kBrackets, '[') + std::string(kBrackets, ']') + "\n"));
  ASSERT_TRUE(index);
  ASSERT_EQ(index->size(), 4U);
  EXPECT_EQ(index->length(2), kBrackets * 2);
  EXPECT_TRUE(index->damage().empty());
}

TEST(Attack, NestedObjectsStayInsideTheirEntry) {
  const std::string nested = repeated(R"({"a":)", kBrackets) + "1" + std::string(kBrackets, '}');
  const std::string line = R"({"type":"custom","id":"00000009","parentId":null,"data":)" + nested + "}\n";
  const auto index = index_within_bounds(between_entries(line));
  ASSERT_TRUE(index);
  ASSERT_EQ(index->size(), 4U);
  EXPECT_EQ(index->id(2).text, "00000009");
}

// Each line starts a value that ends in an error only at the end of the log, so a naive reader reads the whole rest for
// each line.
class UnclosedValues : public ::testing::TestWithParam<const char*> {};

TEST_P(UnclosedValues, AreScannedInBoundedTime) {
  const std::string attack = repeated(GetParam(), kAttackLines) + "!\n";
  const auto index = index_within_bounds(std::string(kHeaderLine) + entry_line("00000001", "null") + attack);
  ASSERT_TRUE(index);
  ASSERT_GE(index->size(), 1U);
  EXPECT_EQ(index->id(1).text, "00000001");
  EXPECT_FALSE(index->damage().empty());
}

INSTANTIATE_TEST_SUITE_P(Openers, UnclosedValues,
                         ::testing::Values("[1,\n", "[\n", "{\"a\":\n", "[{\"type\":\"message\"},\n", "{\"k\":[\n",
                                           "[1,\n{\"type\":\"label\",\"id\":\"x\"},\n", "[1,\n\n\n\n"));

TEST(Attack, UnclosedValuesSwallowLinesLikeTheAgents) {
  // Few enough that the scanner does not give up: only the openers' own lines are dropped.
  const auto index = index_within_bounds(between_entries(repeated("[1,\n", 200)));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->size(), 3U);
}

TEST(Attack, NumberWithAMillionDigitsIsRead) {
  const std::string line =
      R"({"type":"custom","id":"00000009","parentId":null,"data":)" + std::string(kBrackets, '7') + "}\n";
  const auto index = index_within_bounds(between_entries(line));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->size(), 4U);
}

TEST(Attack, IdAndTypeOfAMegabyteAreRead) {
  const std::string big(kBrackets, 'i');
  const auto index = index_within_bounds(between_entries(R"({"type":")" + big + R"(","id":")" + big + "\"}\n"));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->size(), 4U);
}

TEST(Attack, ManyTypesAndRolesAreRead) {
  std::string text(kHeaderLine);
  for (std::uint64_t i = 0; i < 200'000 / kShrink; ++i) {
    const std::string number = std::to_string(i);
    text += R"({"type":"message","id":")" + hex_id(i) + R"(","parentId":null,"message":{"role":"r)" + number + "\"}}\n";
  }
  const auto index = index_within_bounds(text);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->size(), 200'000 / kShrink);
}

}  // namespace
}  // namespace arborfs::scale
