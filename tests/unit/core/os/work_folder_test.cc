#include "core/os/work_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "core/os/submounts.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using Parts = std::vector<std::string>;

class WorkFolderTest : public ::testing::Test {
 protected:
  WorkFolderTest() {
    fs::create_directories(work() / "src");
    fs::create_symlink(work(), root() / "link");
    fs::create_symlink("/etc", work() / "out");
  }
  [[nodiscard]] fs::path root() const { return temp_.root(); }
  [[nodiscard]] fs::path work() const { return root() / "work"; }

 private:
  testing::TempStore temp_;
};

TEST_F(WorkFolderTest, KnowsThePathsBelowIt) {
  const auto folder = WorkFolder::open((root() / "link").string());
  ASSERT_TRUE(folder);
  for (const std::string& path :
       {std::string("src//./a.go"), (root() / "link/src/a.go").string(), (work() / "src/a.go").string()}) {
    const auto parts = folder->parts_of(path);
    ASSERT_TRUE(parts) << path;
    EXPECT_EQ(*parts, (Parts{"src", "a.go"})) << path;
  }
  for (const std::string& path :
       {std::string(), std::string("."), std::string("../a"), std::string("src/../../a"), std::string("/etc/passwd"),
        std::string("src/"), work().string(), work().string() + "x/a", std::string("a\0b", 3)}) {
    const auto parts = folder->parts_of(path);
    ASSERT_FALSE(parts) << path;
    EXPECT_EQ(parts.error().code, Errc::not_permitted) << path;
  }
}

TEST_F(WorkFolderTest, FollowsNoLinkAndEntersNoClosedFolder) {
  auto folder = WorkFolder::open(work().string());
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->folder_of({"src", "a.go"}));
  const auto linked = folder->folder_of({"out", "passwd"});
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().code, Errc::not_permitted);
  const auto missing = folder->folder_of({"none", "a"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  const auto closed = Dir::stat_root((work() / "src").string());
  ASSERT_TRUE(closed);
  ASSERT_TRUE(folder->keep_out(*closed));
  EXPECT_FALSE(folder->folder_of({"src", "a.go"}));
}

TEST_F(WorkFolderTest, IsNeitherRelativeNorTheRoot) {
  for (const std::string& path :
       {std::string(), std::string("work"), std::string("/"), std::string("/.."), (root() / "none").string()}) {
    EXPECT_FALSE(WorkFolder::open(path)) << path;
  }
}

TEST(MountPoints, AreThoseOfOneType) {
  const std::string text =
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "42 22 0:32 / /s/with\\040space rw,relatime shared:1 - fuse.arborfs x rw\n"
      "43 22 0:33 / /s/other rw - fuse.arborfs2 x rw\n"
      "45";
  EXPECT_EQ(mount_points_of(text, "fuse.arborfs"), std::set<std::string>{"/s/with space"});
  EXPECT_TRUE(mount_points_of("proc").contains("/proc"));
}

}  // namespace
}  // namespace arborfs
