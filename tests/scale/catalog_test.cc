// Listing thousands of sessions reads their heads only (FAILURES.md F14).
#include "core/session/catalog.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/formats/omp/store/store.h"
#include "tests/scale/scale_support.h"

namespace arborfs::scale {
namespace {

constexpr std::uint64_t kSessions = 3000 / kShrink;
constexpr std::uint64_t kFolders = 30;
constexpr std::uint64_t kHugeBytes = 2'000'000'000;
constexpr double kTimesPlain = 40;

std::string session_id(std::uint64_t number) {
  return "1470cb25" + hex_id(number);
}

std::string log_path(const std::string& sessions, std::uint64_t number) {
  return sessions + "/--srv-p" + std::to_string(number % kFolders) + "--/2026-02-16T10-20-30-000Z_" +
         session_id(number) + ".jsonl";
}

void write_store(const std::string& sessions) {
  for (std::uint64_t i = 0; i < kFolders; ++i) {
    std::filesystem::create_directories(sessions + "/--srv-p" + std::to_string(i) + "--");
  }
  for (std::uint64_t i = 0; i < kSessions; ++i) {
    const std::string header = R"({"type":"session","version":3,"id":")" + session_id(i) + R"(","title":"Session )" +
                               std::to_string(i) + R"(","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/srv/p)" +
                               std::to_string(i % kFolders) + "\"}\n";
    write_text(log_path(sessions, i), header + entry_line("00000001", "null", std::string(2000, 'x')));
  }
}

// The minimum for a listing: names, stat and the head of each log.
std::uint64_t plain_listing(const std::string& sessions) {
  std::uint64_t bytes = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(sessions)) {
    struct stat st {};
    ::stat(item.path().c_str(), &st);
    if (item.is_regular_file()) {
      char head[4096];
      const UniqueFd fd(::open(item.path().c_str(), O_RDONLY | O_CLOEXEC));
      bytes += static_cast<std::uint64_t>(std::max<ssize_t>(::read(fd.get(), head, sizeof head), 0));
    }
  }
  return bytes;
}

class CatalogScale : public ::testing::Test {
 protected:
  void SetUp() override { write_store(sessions_); }
  TempDir dir_;
  const std::string sessions_ = dir_ / "sessions";
};

TEST_F(CatalogScale, ThousandsOfSessionsAreListedFromTheirHeads) {
  const double plain = least_cpu_seconds(3, [&] { plain_listing(sessions_); });
  std::unique_ptr<Catalog> catalog;
  const std::uint64_t before = anonymous_bytes();
  const double listed = cpu_seconds([&] {
    catalog = std::make_unique<Catalog>(omp::open_store(dir_.path()), "/home/nobody");
    catalog->rescan();
  });
  const std::uint64_t after = anonymous_bytes();
  const auto view = catalog->view();
  EXPECT_EQ(view->projects.size(), kFolders);
  EXPECT_EQ(view->by_id.size(), kSessions);
  EXPECT_LT(listed, plain * kTimesPlain * kPatience) << "plain " << plain << " s";
  if (!kSanitized) {
    EXPECT_LT(after - std::min(before, after), kSessions * 8192 + (16 << 20));
  }
  RecordProperty("times_plain", std::to_string(listed / plain));
}

TEST_F(CatalogScale, HugeLogsAreListedAsCheaplyAsSmallOnes) {
  for (std::uint64_t i = 0; i < kSessions; i += 10) {
    std::filesystem::resize_file(log_path(sessions_, i), kHugeBytes);  // a hole: NUL bytes without space on the disk
  }
  const double plain = least_cpu_seconds(3, [&] { plain_listing(sessions_); });
  Catalog catalog(omp::open_store(dir_.path()), "/home/nobody");
  const double listed = cpu_seconds([&] { catalog.rescan(); });
  EXPECT_EQ(catalog.view()->by_id.size(), kSessions);
  EXPECT_LT(listed, plain * kTimesPlain * kPatience) << "plain " << plain << " s";
}

TEST_F(CatalogScale, RescanWithoutChangesIsCheap) {
  Catalog catalog(omp::open_store(dir_.path()), "/home/nobody");
  const double first = cpu_seconds([&] { catalog.rescan(); });
  const std::uint64_t version = catalog.view()->version;
  const double again = least_cpu_seconds(5, [&] { catalog.rescan(); });
  EXPECT_EQ(catalog.view()->version, version);
  EXPECT_LT(again, first / 2 + 0.002) << "first " << first << " s";
}

TEST_F(CatalogScale, OneNewSessionIsFoundAmongThousands) {
  Catalog catalog(omp::open_store(dir_.path()), "/home/nobody");
  const double first = cpu_seconds([&] { catalog.rescan(); });
  const std::string folder = sessions_ + "/--srv-p0--";
  std::filesystem::copy_file(log_path(sessions_, 0), folder + "/2026-02-17T10-20-30-000Z_1470cb2fffffffff.jsonl");
  const double again = cpu_seconds([&] { catalog.rescan_folder({0, "--srv-p0--"}); });
  EXPECT_EQ(catalog.view()->where.size(), kSessions + 1);
  EXPECT_LT(again, first) << "first " << first << " s";
  EXPECT_LE(catalog.recent(50).size(), 50U);
}

}  // namespace
}  // namespace arborfs::scale
