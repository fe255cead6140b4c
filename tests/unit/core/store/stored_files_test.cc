#include "core/store/stored_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::TempStore;

class StoredFilesTest : public ::testing::Test {
 protected:
  StoredFilesTest() {
    fs::create_directories(base() / "a" / "deep");
    fs::create_directories(base() / "b");
    std::ofstream(base() / "a" / "one.txt") << "one";
    std::ofstream(base() / "a" / "deep" / "two.txt") << "two";
    std::ofstream(base() / "b" / "mine") << "mine";
    std::ofstream(base() / "b" / "other") << "other";
  }
  [[nodiscard]] fs::path base() const { return temp_.sessions(); }
  [[nodiscard]] StoredFiles files(std::vector<std::string> chosen) const {
    return {*Dir::open_root(base().string()), std::move(chosen)};
  }
  static std::vector<std::string> names(const StoredFiles& files, const std::string& path) {
    std::vector<std::string> found;
    const auto listed = files.list(path);
    for (const auto& item : listed ? *listed : std::vector<ShownFiles::Item>()) {
      found.push_back(item.name + (item.is_folder ? "/" : ""));
    }
    return found;
  }
  static std::string text(const StoredFiles& files, const std::string& path) {
    auto content = files.open(path);
    const auto read = content ? std::get<File>(*content).read(0, 100) : Result<std::string>(content.error());
    return read ? *read : read.error().message;
  }

 private:
  TempStore temp_;
};

using Names = std::vector<std::string>;

TEST_F(StoredFilesTest, ShowsChosenFilesAndWholeFolders) {
  const StoredFiles shown = files({"a", "b/mine", "c/missing", "d"});
  EXPECT_EQ(names(shown, ""), (Names{"a/", "b/"}));
  EXPECT_EQ(names(shown, "a"), (Names{"deep/", "one.txt"}));
  EXPECT_EQ(names(shown, "b"), Names{"mine"});
  EXPECT_EQ(text(shown, "a/deep/two.txt"), "two");
  EXPECT_EQ(text(shown, "b/mine"), "mine");
  EXPECT_EQ(shown.stat("b/mine")->size, 4U);
  EXPECT_EQ(shown.stat("b/other").error().code, Errc::not_found);
  EXPECT_EQ(shown.open("b/other").error().code, Errc::not_found);
  EXPECT_FALSE(shown.list("c"));
}

TEST_F(StoredFilesTest, ShowsEverythingForTheEmptyPath) {
  EXPECT_EQ(names(files({""}), ""), (Names{"a/", "b/"}));
  EXPECT_EQ(names(files({""}), "b"), (Names{"mine", "other"}));
}

TEST_F(StoredFilesTest, S3FollowsNoLink) {
  fs::create_symlink("/etc", base() / "a" / "etc");
  fs::create_symlink("/etc/hostname", base() / "link");
  ASSERT_EQ(::mkfifo((base() / "a" / "fifo").c_str(), 0600), 0);
  const StoredFiles shown = files({"a", "link"});
  EXPECT_EQ(names(shown, ""), Names{"a/"});
  EXPECT_EQ(names(shown, "a"), (Names{"deep/", "one.txt"}));
  for (const char* path : {"link", "a/etc", "a/etc/hostname", "a/fifo", "a/..", "..", "a/../b/other", "a//one.txt"}) {
    EXPECT_FALSE(shown.stat(path)) << path;
    EXPECT_FALSE(shown.open(path)) << path;
  }
}

TEST_F(StoredFilesTest, FindsFilesByTheNamesThatAreShown) {
  const std::string longest = std::string(200, 'x') + "\x1b" + std::string(54, 'y');
  std::ofstream(base() / "a" / longest) << "long";
  std::ofstream(base() / "a" / "\x1b[31m") << "red";
  const StoredFiles shown = files({"a"});
  EXPECT_EQ(text(shown, "a/%1B[31m"), "red");
  for (const std::string& name : names(shown, "a")) {
    EXPECT_TRUE(shown.stat("a/" + name.substr(0, name.find('/')))) << name;
  }
}

}  // namespace
}  // namespace arborfs
