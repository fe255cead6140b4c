// One line of a gigabyte (FAILURES.md F14, S5): read in constant memory and in the time of a few scans.
#include "core/formats/omp/context/context.h"
#include "tests/scale/scale_support.h"

namespace arborfs::scale {
namespace {

constexpr std::uint64_t kLineBytes = 1'000'000'000 / kShrink;
constexpr std::uint64_t kRoomNeeded = 3'000'000'000;
constexpr std::uint64_t kMemoryBound = 64 << 20;
constexpr double kScans = 30;

void write_giant_line(const std::string& path, std::uint64_t bytes) {
  std::string megabyte(1'000'000, 'a');
  for (std::size_t i = 79; i < megabyte.size(); i += 80) {
    megabyte.replace(i - 1, 2, "\\n");
  }
  std::ofstream out(path, std::ios::binary);
  out << kHeaderLine << entry_line("00000001", "null");
  std::string line = entry_line("00000002", in_quotes("00000001"), "@");
  const std::size_t middle = line.find('@');
  out << line.substr(0, middle);
  for (std::uint64_t done = 0; done < bytes; done += megabyte.size()) {
    out << megabyte;
  }
  out << line.substr(middle + 1) << entry_line("00000003", in_quotes("00000002"));
}

class GiantLine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (dir_.free_bytes() < kRoomNeeded) {
      GTEST_SKIP() << "less than 3 GB free in the temporary folder";
    }
    write_giant_line(dir_ / "giant.jsonl", kLineBytes);
    log_ = open_log(dir_, "giant.jsonl");
    ASSERT_TRUE(log_);
  }
  TempDir dir_;
  std::shared_ptr<const LogSource> log_;
};

TEST_F(GiantLine, IndexedInConstantMemoryWithinAFewScans) {
  const double scan = scan_seconds(*log_);
  std::unique_ptr<LogIndex> index;
  double built = 0;
  const std::uint64_t grown = peak_growth([&] { built = cpu_seconds([&] { index = index_of(*log_); }); });
  ASSERT_TRUE(index);
  EXPECT_EQ(index->size(), 3U);
  EXPECT_GT(index->length(2), kLineBytes);
  EXPECT_EQ(index->id(2).text, "00000002");
  EXPECT_EQ(index->parent(3), 2U);
  EXPECT_TRUE(index->damage().empty());
  EXPECT_LT(built, scan * kScans * kPatience) << "scan " << scan << " s";
  if (!kSanitized) {
    EXPECT_LT(grown, kMemoryBound);
  }
  RecordProperty("scans", std::to_string(built / scan));
  RecordProperty("memory", std::to_string(grown));
}

TEST_F(GiantLine, ContextIsRefusedInConstantMemory) {
  const auto index = index_of(*log_);
  ASSERT_TRUE(index);
  const std::uint64_t grown = peak_growth([&] {
    const auto made = omp::build_context(context_path(*index, index->leaf()), log_, nullptr);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->read(0, 4096).error().code, Errc::too_large);
  });
  if (!kSanitized) {
    EXPECT_LT(grown, kMemoryBound);
  }
}

}  // namespace
}  // namespace arborfs::scale
