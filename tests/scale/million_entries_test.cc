// A million entries (FAILURES.md S6): a compact index, built in the time of a few scans of the same bytes.
#include "core/entry/tree.h"
#include "tests/scale/scale_support.h"

namespace arborfs::scale {
namespace {

constexpr std::uint64_t kEntries = 1'000'000 / kShrink;
constexpr std::uint64_t kBytesAnEntry = 64;
constexpr std::uint64_t kFixedBytes = 4 << 20;
constexpr double kScans = 90;

// Spread over all 32 bits, as ids are.
std::string scattered_id(std::uint64_t number) {
  return hex_id(number * 0x9E3779B1U & 0xFFFFFFFFU);
}

void write_entries(const std::string& path, std::uint64_t from, std::uint64_t to) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  if (from == 0) {
    out << kHeaderLine;
  }
  for (std::uint64_t i = from; i < to; ++i) {
    out << entry_line(scattered_id(i), i == 0 ? "null" : in_quotes(scattered_id(i - 1)));
  }
}

class MillionEntries : public ::testing::Test {
 protected:
  void SetUp() override {
    write_entries(dir_ / "many.jsonl", 0, kEntries);
    log_ = open_log(dir_, "many.jsonl");
    ASSERT_TRUE(log_);
  }
  TempDir dir_;
  std::shared_ptr<const LogSource> log_;
};

TEST_F(MillionEntries, IndexIsCompact) {
  const std::uint64_t before = anonymous_bytes();
  const auto index = index_of(*log_);
  ASSERT_TRUE(index);
  ASSERT_EQ(index->size(), kEntries);
  const std::uint64_t after = anonymous_bytes();
  const std::uint64_t bound = kEntries * kBytesAnEntry + kFixedBytes;
  EXPECT_LE(index->memory_bytes(), bound);
  EXPECT_GE(index->memory_bytes(), kEntries * sizeof(Entry));
  if (!kSanitized) {
    EXPECT_LE(after - std::min(before, after), bound);
  }
  RecordProperty("bytes_an_entry", std::to_string(index->memory_bytes() / kEntries));
}

TEST_F(MillionEntries, IndexedWithinAFewScans) {
  const double scan = scan_seconds(*log_);
  std::unique_ptr<LogIndex> index;
  const double built = least_cpu_seconds(2, [&] { index = index_of(*log_); });
  ASSERT_TRUE(index);
  EXPECT_LT(built, scan * kScans * kPatience) << "scan " << scan << " s";
  RecordProperty("scans", std::to_string(built / scan));
}

TEST_F(MillionEntries, LookupsAreNotLinear) {
  const auto index = index_of(*log_);
  ASSERT_TRUE(index);
  const double built = cpu_seconds([&] { index_of(*log_); });
  Ordinal found = 0;
  const double looked_up = cpu_seconds([&] {
    for (std::uint64_t i = 0; i < kEntries; ++i) {
      found += index->find(scattered_id(i)) == i + 1 ? 1U : 0U;
    }
  });
  EXPECT_EQ(found, kEntries);
  EXPECT_LT(looked_up, built * 6) << "build " << built << " s";
}

TEST_F(MillionEntries, TreeAndPathTakeLinearTime) {
  const auto index = index_of(*log_);
  ASSERT_TRUE(index);
  const double built = cpu_seconds([&] { index_of(*log_); });
  std::size_t nodes = 0;
  std::size_t path = 0;
  const double walked = cpu_seconds([&] {
    nodes = tree_of(*index).nodes.size();
    path = path_to(*index, index->leaf()).size();
  });
  EXPECT_EQ(nodes, kEntries);
  EXPECT_EQ(path, kEntries);
  EXPECT_LT(walked, built * 6) << "build " << built << " s";
}

TEST_F(MillionEntries, GrowthCostsOnlyTheNewEntries) {
  const auto index = index_of(*log_);
  ASSERT_TRUE(index);
  const double built = cpu_seconds([&] { index_of(*log_); });
  write_entries(dir_ / "many.jsonl", kEntries, kEntries + 100);
  const double grown = cpu_seconds([&] {
    auto growth = index->read_growth(*log_);
    ASSERT_TRUE(growth);
    ASSERT_TRUE(*growth);
    index->apply(std::move(*growth));
  });
  EXPECT_EQ(index->size(), kEntries + 100);
  EXPECT_LT(grown, built / 5 + 0.001) << "build " << built << " s";
}

}  // namespace
}  // namespace arborfs::scale
