// The functions that open files (core/os/disk.h, file.h): none follows a link or leaves its folder.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/os/disk.h"
#include "core/os/state_dir.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

class SafeOpenTest : public ::testing::Test {
 protected:
  SafeOpenTest() {
    std::ofstream(root / "secret") << "secret";
    fs::create_directories(root / "place" / "below");
    fs::create_symlink(root / "secret", root / "place" / "link");
    fs::create_symlink(root / "new", root / "place" / "dangling");
    fs::create_directory_symlink(root, root / "place" / "folder");
    ::mkfifo((root / "place" / "fifo").c_str(), 0600);
  }
  testing::TempStore temp;
  const fs::path root = temp.root();
};

TEST_F(SafeOpenTest, S3LinksAndSpecialFilesAreNotFollowed) {
  Disk& disk = Disk::real();
  const auto place = Dir::open_root((root / "place").string());
  ASSERT_TRUE(place) << place.error().message;
  for (const char* name : {"link", "dangling", "folder", "fifo", "below", "../secret", "..", ".", "", "below/x"}) {
    EXPECT_FALSE(disk.open_append(*place, name)) << name;
    EXPECT_FALSE(disk.open_update(*place, name)) << name;
    EXPECT_FALSE(disk.create(*place, name, 0600)) << name;
    EXPECT_FALSE(File::open_in(*place, name)) << name;
  }
  for (const char* name : {"link", "dangling", "folder", "fifo", "../place", "..", ".", "", "below/x"}) {
    EXPECT_FALSE(place->open_in(name)) << name;
  }
  EXPECT_TRUE(place->open_in("below"));
  EXPECT_EQ(fs::file_size(root / "secret"), 6U);
  EXPECT_FALSE(fs::exists(root / "new"));
}

TEST_F(SafeOpenTest, S12PrivateFoldersAreOwnerOnly) {
  const mode_t before = ::umask(0);
  const auto made = make_private_folder(Disk::real(), (root / "state" / "arborfs" / "leaves").string());
  ::umask(before);
  ASSERT_TRUE(made) << made.error().message;
  for (const fs::path& folder : {root / "state", root / "state/arborfs", root / "state/arborfs/leaves"}) {
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
  }
  EXPECT_TRUE(open_private_folder((root / "state").string()));
  EXPECT_EQ(open_private_folder((root / "none").string()).error().code, Errc::not_found);
}

TEST_F(SafeOpenTest, S12FoldersOfOtherUsersAreRefused) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  ASSERT_EQ(::chown((root / "place").c_str(), 65534, 65534), 0);
  for (const fs::path& path : {root / "place", root / "place" / "made"}) {
    EXPECT_EQ(make_private_folder(Disk::real(), path.string()).error().code, Errc::permission) << path;
  }
  EXPECT_EQ(open_private_folder((root / "place").string()).error().code, Errc::permission);
  EXPECT_FALSE(fs::exists(root / "place" / "made"));
}

}  // namespace
}  // namespace arborfs
