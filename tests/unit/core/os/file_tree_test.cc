// Copying and removing a folder's contents.

#include "core/os/file_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/acts.h"
#include "tests/support/faulty_disk.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of_file;
using testing::Fault;
using testing::FaultyDisk;
using testing::TempStore;

class FileTree : public ::testing::Test {
 protected:
  FileTree() {
    fs::create_directories(root_ / "source/nested/empty");
    std::ofstream(root_ / "source/big") << std::string(300'000, 'x');
    std::ofstream(root_ / "source/nested/small") << "y";
    fs::create_symlink("/nowhere/else", root_ / "source/link");
    fs::permissions(root_ / "source/nested/small", fs::perms(0640));
    fs::permissions(root_ / "source/nested", fs::perms(0750));
    fs::last_write_time(root_ / "source/big", long_ago_);
    fs::last_write_time(root_ / "source/nested", long_ago_);
    fs::create_directory(root_ / "target");
  }
  [[nodiscard]] Dir dir(const std::string& name) const {
    auto opened = Dir::open_root((root_ / name).string());
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  Result<void> copy() { return copy_tree(disk_, dir("."), "source", dir("target"), "copy"); }

  const TempStore temp_;
  const fs::path root_ = temp_.root();
  const fs::file_time_type long_ago_ = fs::file_time_type::clock::now() - std::chrono::hours(1000);
  FaultyDisk disk_;
};

TEST_F(FileTree, CopyKeepsBytesLinksPermissionsAndTimes) {
  ASSERT_TRUE(copy());
  const fs::path copied = root_ / "target/copy";
  EXPECT_EQ(bytes_of_file(copied / "big"), std::string(300'000, 'x'));
  EXPECT_EQ(bytes_of_file(copied / "nested/small"), "y");
  EXPECT_TRUE(fs::is_empty(copied / "nested/empty"));
  EXPECT_EQ(fs::read_symlink(copied / "link"), "/nowhere/else");
  EXPECT_EQ(fs::status(copied / "nested/small").permissions(), fs::perms(0640));
  EXPECT_EQ(fs::status(copied / "nested").permissions(), fs::perms(0750));
  EXPECT_EQ(fs::last_write_time(copied / "big"), long_ago_);
  EXPECT_EQ(fs::last_write_time(copied / "nested"), long_ago_);
}

TEST_F(FileTree, SizeIsThatOfAllFilesAndLinksBelow) {
  EXPECT_EQ(*size_of_tree(dir("."), "source"), 300'000U + 1 + std::string("/nowhere/else").size());
  EXPECT_EQ(*size_of_tree(dir("source"), "big"), 300'000U);
  EXPECT_EQ(*size_of_tree(dir("."), "absent"), 0U);
}

TEST_F(FileTree, TimesBefore1970AreKept) {
  const auto before_1970 = fs::file_time_type::clock::from_sys(
      std::chrono::sys_time<std::chrono::nanoseconds>(-std::chrono::nanoseconds(1'500'000'000)));
  fs::last_write_time(root_ / "source/big", before_1970);
  ASSERT_TRUE(copy());
  EXPECT_EQ(fs::last_write_time(root_ / "target/copy/big"), before_1970);
}

TEST_F(FileTree, ExistingTargetIsNotWritten) {
  std::ofstream(root_ / "target/copy") << "mine";
  const auto copied = copy();
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::already_exists);
  EXPECT_EQ(bytes_of_file(root_ / "target/copy"), "mine");
}

TEST_F(FileTree, SpecialFilesAreRefused) {
  ASSERT_EQ(::mkfifo((root_ / "source/nested/fifo").c_str(), 0600), 0);
  const auto copied = copy();
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::unsupported);
}

TEST_F(FileTree, DeepNestingIsRefused) {
  fs::path deep = root_ / "source";
  for (int i = 0; i < 200; ++i) {
    deep /= "d";
  }
  fs::create_directories(deep);
  EXPECT_FALSE(copy());
  EXPECT_FALSE(remove_tree(disk_, dir("."), "source"));
  EXPECT_TRUE(fs::exists(deep));
}

TEST_F(FileTree, RemoveLeavesNothingAndFollowsNoLinks) {
  std::ofstream(root_ / "kept") << "kept";
  fs::remove(root_ / "source/link");
  fs::create_symlink(root_, root_ / "source/link");
  ASSERT_TRUE(remove_tree(disk_, dir("."), "source"));
  EXPECT_FALSE(fs::exists(root_ / "source"));
  EXPECT_EQ(bytes_of_file(root_ / "kept"), "kept");
  EXPECT_TRUE(remove_tree(disk_, dir("."), "source")) << "that nothing is there is no error";
}

TEST_F(FileTree, EachFailureIsReported) {
  constexpr unsigned kEnough = 100;
  unsigned at = 1;
  for (bool met = true; met && at < kEnough; ++at) {
    disk_.arm(Fault::io, at, 1);
    const auto copied = copy();
    met = !disk_.met().empty();
    disk_.disarm();
    EXPECT_EQ(copied.has_value(), !met) << at;
    ASSERT_TRUE(remove_tree(disk_, dir("target"), "copy"));
  }
  EXPECT_GT(at, 15U);
  EXPECT_LT(at, kEnough);
  disk_.arm(Fault::io, 3, 1);
  EXPECT_FALSE(remove_tree(disk_, dir("."), "source"));
  disk_.disarm();
}

TEST_F(FileTree, NamesOutsideTheFolderAreRefused) {
  EXPECT_FALSE(disk_.remove_folder(dir("."), "../x"));
  EXPECT_FALSE(disk_.make_link(dir("."), "a/b", "c"));
  EXPECT_FALSE(copy_tree(disk_, dir("."), "..", dir("target"), "copy"));
  EXPECT_FALSE(remove_tree(disk_, dir("target"), ".."));
}

}  // namespace
}  // namespace arborfs
