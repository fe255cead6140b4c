// arborfs-generate: the same arguments give the same bytes, and every line is JSON.
#include "core/json/document.h"
#include "tests/scale/scale_support.h"
#include "tests/support/paths.h"

namespace arborfs::scale {
namespace {

std::string generator() {
  return (std::filesystem::path(arborfs::tests::kBinary).parent_path() / "arborfs-generate").string();
}

bool generate(const std::string& arguments) {
  return std::system((generator() + " " + arguments + " > /dev/null").c_str()) == 0;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Generator : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(generator().c_str(), X_OK) != 0) {
      GTEST_SKIP() << "arborfs-generate is not built (ARBORFS_BUILD_BENCH)";
    }
  }
  void expect_json_lines(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    json::Document document;
    std::size_t bad = 0;
    for (std::string line; std::getline(in, line);) {
      bad += json::parse(line, document) && document.IsObject() ? 0U : 1U;
    }
    EXPECT_EQ(bad, 0U) << path;
  }
  TempDir dir_;
};

TEST_F(Generator, SessionsAreReproducible) {
  ASSERT_TRUE(generate("session 2 5 " + (dir_ / "a.jsonl") + " --branches 9 --v18 --blobs " + (dir_ / "blobs")));
  ASSERT_TRUE(generate("session 2 5 " + (dir_ / "b.jsonl") + " --branches 9 --v18 --blobs " + (dir_ / "blobs")));
  ASSERT_TRUE(generate("session 2 6 " + (dir_ / "c.jsonl") + " --branches 9 --v18"));
  EXPECT_EQ(file_text(dir_ / "a.jsonl"), file_text(dir_ / "b.jsonl"));
  EXPECT_NE(file_text(dir_ / "a.jsonl"), file_text(dir_ / "c.jsonl"));
  expect_json_lines(dir_ / "a.jsonl");
}

TEST_F(Generator, SessionsAreValidLogs) {
  ASSERT_TRUE(generate("session 2 5 " + (dir_ / "a.jsonl") + " --branches 9"));
  const auto log = open_log(dir_, "a.jsonl");
  ASSERT_TRUE(log);
  const auto index = index_of(*log);
  ASSERT_TRUE(index);
  EXPECT_TRUE(index->header().valid);
  EXPECT_TRUE(index->damage().empty());
  EXPECT_FALSE(index->has_duplicate_ids());
  EXPECT_EQ(index->tip_count(), 10U);
  for (Ordinal o = 1; o <= index->size(); ++o) {
    EXPECT_FALSE(index->is_orphan(o)) << o;
  }
}

TEST_F(Generator, StoresAreReproducible) {
  const std::string options = " 12 3 4 --median-kb 30 --max-mb 1 --v18 0.5";
  ASSERT_TRUE(generate("store " + (dir_ / "one") + options));
  ASSERT_TRUE(generate("store " + (dir_ / "two") + options));
  std::size_t files = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(dir_ / "one")) {
    const std::string below = item.path().string().substr((dir_ / "one").size());
    if (item.is_regular_file() && !below.starts_with("/terminal-sessions")) {
      EXPECT_EQ(file_text(item.path()), file_text((dir_ / "two") + below)) << below;
      if (!below.starts_with("/blobs")) {
        EXPECT_EQ(item.last_write_time(), std::filesystem::last_write_time((dir_ / "two") + below)) << below;
      }
      ++files;
    }
  }
  EXPECT_GE(files, 12U);
}

TEST_F(Generator, ShapesAreValidJson) {
  ASSERT_TRUE(generate("entries 500 " + (dir_ / "entries.jsonl")));
  ASSERT_TRUE(generate("chain 500 " + (dir_ / "chain.jsonl")));
  ASSERT_TRUE(generate("giant-line 3 " + (dir_ / "giant.jsonl")));
  for (const char* name : {"entries.jsonl", "chain.jsonl", "giant.jsonl"}) {
    expect_json_lines(dir_ / name);
  }
}

}  // namespace
}  // namespace arborfs::scale
