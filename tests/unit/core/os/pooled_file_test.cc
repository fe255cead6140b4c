// Many logs, few descriptors (FAILURES.md S10).
#include "core/os/pooled_file.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

struct Logs {
  explicit Logs(int count) {
    for (int i = 0; i < count; ++i) {
      temp.write("f", "log" + std::to_string(i), "content " + std::to_string(i));
    }
  }
  [[nodiscard]] PooledFile open(int number) const {
    const auto reopen = [folder = (temp.sessions() / "f").string(), number]() -> Result<File> {
      auto dir = Dir::open_root(folder);
      return dir ? File::open_in(*dir, "log" + std::to_string(number) + ".jsonl") : Result<File>(dir.error());
    };
    auto file = reopen();
    const auto st = file->stat();
    return {std::move(file).value(), *st, reopen};
  }
  testing::TempStore temp;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

std::string content_of(const PooledFile& pooled) {
  auto file = pooled.acquire();
  if (!file) {
    return "error: " + file.error().message;
  }
  std::string bytes(100, '\0');
  bytes.resize(*(*file)->read_at(0, bytes));
  return bytes;
}

TEST(PooledFileTest, S10ManyLogsStayReadableWithinTheDescriptorLimit) {
  const int count = static_cast<int>(pooled_file_limit()) + 200;
  const Logs logs(count);
  const std::size_t before = open_descriptors();
  std::vector<PooledFile> pooled;
  for (int i = 0; i < count; ++i) {
    pooled.push_back(logs.open(i));
  }
  EXPECT_LE(open_descriptors(), before + pooled_file_limit());
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(content_of(pooled[static_cast<std::size_t>(i)]), "content " + std::to_string(i));
  }
  EXPECT_LE(open_descriptors(), before + pooled_file_limit());
}

TEST(PooledFileTest, FileReplacedWhileClosedIsStale) {
  const int count = static_cast<int>(pooled_file_limit()) + 1;
  const Logs logs(count);
  const PooledFile first = logs.open(0);
  std::vector<PooledFile> others;
  for (int i = 1; i < count; ++i) {
    others.push_back(logs.open(i));
  }
  for (int i = 1; i < count; ++i) {
    others.push_back(logs.open(i));
  }
  logs.temp.replace("f", "log0", "another");
  const std::string bytes = content_of(first);
  EXPECT_TRUE(bytes == "content 0" || bytes.starts_with("error:")) << bytes;
}

TEST(PooledFileTest, PoolReleasesDescriptorsWhenTheyRunOut) {
  const int count = static_cast<int>(pooled_file_limit()) + 1;
  const Logs logs(count);
  int busy = 0;
  const auto reopen = [&]() -> Result<File> {
    if (busy-- > 0) {
      return Error{Errc::busy, "no descriptor is left"};
    }
    return File::open_in(*Dir::open_root((logs.temp.sessions() / "f").string()), "log0.jsonl");
  };
  auto file = reopen();
  const auto st = file->stat();
  const PooledFile first(std::move(file).value(), *st, reopen);
  std::vector<PooledFile> others;
  for (int i = 1; i < count; ++i) {
    others.push_back(logs.open(i));
  }
  const std::size_t before = open_descriptors();
  busy = 1;
  EXPECT_EQ(content_of(first), "content 0");
  EXPECT_LT(open_descriptors(), before) << "the others were closed";
  EXPECT_EQ(content_of(others.back()), "content " + std::to_string(count - 1));
}

}  // namespace
}  // namespace arborfs
