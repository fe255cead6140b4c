// The disk refuses names that lead elsewhere, and reports errors in the terms of this code.

#include "core/os/disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/base/log.h"
#include "tests/support/acts.h"

namespace arborfs {
namespace {

using testing::bytes_of_file;
using testing::TempStore;

TEST(Disk, NamesWithSeveralComponentsAreRefused) {
  const TempStore temp;
  std::ofstream(temp.root() + "/victim") << "kept";
  const auto folder = Dir::open_root(temp.sessions().string());
  ASSERT_TRUE(folder);
  Disk& disk = Disk::real();
  for (const std::string& name : std::vector<std::string>{"../victim", "..", ".", "", "a/b", std::string("a\0b", 3)}) {
    EXPECT_EQ(disk.open_append(*folder, name).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(disk.open_update(*folder, name).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(disk.create(*folder, name, 0600).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(disk.remove(*folder, name).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(disk.make_folder(*folder, name, 0700).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(disk.remove_folder(*folder, name).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(disk.make_link(*folder, name, "x").error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(disk.rename(*folder, name, *folder, "x", Disk::Existing::keep).error().code, Errc::invalid_argument);
    EXPECT_EQ(disk.rename(*folder, "x", *folder, name, Disk::Existing::keep).error().code, Errc::invalid_argument);
    EXPECT_EQ(File::open_in(*folder, name).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(folder->open_in(name).error().code, Errc::invalid_argument) << name;
    EXPECT_EQ(folder->stat(name).error().code, Errc::invalid_argument) << name;
  }
  EXPECT_EQ(bytes_of_file(temp.root() + "/victim"), "kept");
}

TEST(Disk, FoldersCannotBeOpenedAsFiles) {
  const TempStore temp;
  std::filesystem::create_directories(temp.root() + "/x");
  const auto folder = Dir::open_root(temp.root());
  ASSERT_TRUE(folder);
  EXPECT_FALSE(Disk::real().open_append(*folder, "x"));
  EXPECT_EQ(File::open_in(*folder, "x").error().code, Errc::corrupt);
  EXPECT_FALSE(Disk::real().make_folder(*folder, std::string(255, 'y') + "y", 0700));
}

std::uint64_t blocks_of(const DiskRoom& room) {
  struct stat st {};
  return ::fstat(room.file.get(), &st) == 0 ? static_cast<std::uint64_t>(st.st_blocks) : 0;
}

TEST(KeptRooms, RoomIsKeptForTheNextCommandUntilItIsFreed) {
  const TempStore temp;
  const auto folder = Dir::open_root(temp.root());
  ASSERT_TRUE(folder);
  KeptRooms rooms(Disk::real());
  EXPECT_FALSE(rooms.free()) << "there is nothing yet";
  auto first = rooms.take(*folder, 16 << 10);
  ASSERT_TRUE(first);
  if (!(*first)->file) {
    GTEST_SKIP() << "the file system of the temporary folder cannot reserve space";
  }
  EXPECT_EQ(blocks_of(**first) * 512, 16U << 10U);
  const auto other = rooms.take(*folder, 16 << 10);
  ASSERT_TRUE(other);
  EXPECT_NE(*other, *first) << "two commands at once have room of their own";
  EXPECT_FALSE(rooms.free()) << "commands have both";
  const DiskRoom* const kept = first->get();
  const int descriptor = kept->file.get();
  first->reset();
  auto next = rooms.take(*folder, 8 << 10);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->get(), kept);
  next->reset();
  EXPECT_TRUE(rooms.free());
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1) << "what is freed is free for other programs";
}

TEST(KeptRooms, LargeRoomEndsWithItsCommand) {
  const TempStore temp;
  const auto folder = Dir::open_root(temp.root());
  KeptRooms rooms(Disk::real());
  auto large = rooms.take(*folder, KeptRooms::kLargest + 1);
  ASSERT_TRUE(large);
  const int descriptor = (*large)->file.get();
  large->reset();
  EXPECT_TRUE(descriptor == -1 || ::fcntl(descriptor, F_GETFD) == -1);
  EXPECT_FALSE(rooms.free());
}

/// As on FUSE and NFS: renameat2 supports no flags.
class PlainRenames : public Disk {
 protected:
  int rename_at(const Dir& from, const char* name, const Dir& to, const char* new_name, unsigned flags) override {
    if (flags != 0) {
      errno = EINVAL;
      return -1;
    }
    return Disk::rename_at(from, name, to, new_name, flags);
  }
};

class PlainRenamesTest : public ::testing::Test {
 protected:
  PlainRenamesTest() {
    std::filesystem::create_directories(root_ / "folder");
    std::filesystem::create_directories(root_ / "full" / "x");
    std::ofstream(root_ / "one") << "1";
    std::ofstream(root_ / "two") << "2";
    std::filesystem::create_symlink("nowhere", root_ / "link");
  }
  Result<void> rename(const char* from, const char* to, Disk::Existing existing = Disk::Existing::keep) {
    const auto folder = Dir::open_root(root_.string());
    return disk_.rename(*folder, from, *folder, to, existing);
  }
  TempStore temp_;
  const std::filesystem::path root_{temp_.root()};
  PlainRenames disk_;
};

TEST_F(PlainRenamesTest, ExistingTargetsAreNotReplaced) {
  for (const char* const from : {"one", "link", "folder"}) {
    for (const char* const to : {"two", "full"}) {
      EXPECT_EQ(rename(from, to).error().code, Errc::already_exists) << from << " " << to;
    }
  }
  EXPECT_EQ(bytes_of_file(root_ / "two"), "2");
  EXPECT_EQ(rename("none", "new").error().code, Errc::not_found);
}

TEST_F(PlainRenamesTest, FilesLinksAndFoldersAreRenamed) {
  for (const char* const from : {"one", "link", "full"}) {
    const std::string to = std::string("new ") + from;
    EXPECT_TRUE(rename(from, to.c_str())) << from;
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(root_ / from))) << from;
  }
  EXPECT_EQ(bytes_of_file(root_ / "new one"), "1");
  EXPECT_EQ(std::filesystem::hard_link_count(root_ / "new one"), 1U);
  EXPECT_TRUE(std::filesystem::is_symlink(root_ / "new link"));
  EXPECT_TRUE(std::filesystem::exists(root_ / "new full" / "x"));
  EXPECT_TRUE(rename("new one", "two", Disk::Existing::replace));
}

/// Every act once on such a disk.
class ActOnPlainRenames : public ::testing::TestWithParam<testing::Act> {};
INSTANTIATE_TEST_SUITE_P(Acts, ActOnPlainRenames, ::testing::ValuesIn(testing::kActs), testing::name_of);

TEST_P(ActOnPlainRenames, Succeeds) {
  const testing::Act& act = GetParam();
  if (act.trash_is_apart) {
    GTEST_SKIP() << "nothing is renamed between file systems";
  }
  PlainRenames disk;
  testing::Stage stage(testing::Storage::files, disk, testing::settings_of_acts());
  const auto session = act.prepare(stage);
  const auto done = act.run(stage, session);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(act.is_done(stage));
}

TEST(Disk, EmptyWriteIsReportedAsDiskFull) {
  class Full : public Disk {
   public:
    Result<std::size_t> write(int /*fd*/, std::string_view /*bytes*/) override { return std::size_t{0}; }
  };
  Full full;
  EXPECT_EQ(write_all(full, -1, "x").error().code, Errc::no_space);
  EXPECT_TRUE(write_all(full, -1, ""));
}

TEST(Disk, BadDescriptorsAreErrors) {
  Disk& disk = Disk::real();
  EXPECT_EQ(disk.write(-1, "x").error().code, Errc::io);
  EXPECT_EQ(disk.write_at(-1, "x", 0).error().code, Errc::io);
  EXPECT_FALSE(disk.sync(-1));
  EXPECT_FALSE(disk.truncate(-1, 0));
  EXPECT_FALSE(disk.set_mode(-1, 0600));
  EXPECT_FALSE(disk.set_mtime(-1, 0));
  EXPECT_FALSE(File::of(UniqueFd()).stat());
  char byte = 0;
  EXPECT_EQ(File::of(UniqueFd()).read_at(0, {&byte, 1}).error().code, Errc::io);
}

TEST(Error, ErrnoMapsToCodeAndAdvice) {
  const std::vector<std::pair<int, Errc>> rows = {{ENOENT, Errc::not_found},
                                                  {ENOTDIR, Errc::not_found},
                                                  {EACCES, Errc::permission},
                                                  {ELOOP, Errc::permission},
                                                  {EPERM, Errc::not_permitted},
                                                  {EEXIST, Errc::already_exists},
                                                  {EROFS, Errc::read_only},
                                                  {ENOSPC, Errc::no_space},
                                                  {EDQUOT, Errc::over_quota},
                                                  {EFBIG, Errc::too_large},
                                                  {EINTR, Errc::interrupted},
                                                  {EMFILE, Errc::busy},
                                                  {EINVAL, Errc::invalid_argument},
                                                  {EXDEV, Errc::unsupported},
                                                  {EIO, Errc::io},
                                                  {ENAMETOOLONG, Errc::invalid_argument}};
  for (const auto& [number, code] : rows) {
    const Error error = error_from_errno(number, "try it");
    EXPECT_EQ(error.code, code) << number;
    EXPECT_TRUE(error.message.starts_with("try it: ")) << error.message;
  }
  EXPECT_NE(error_from_errno(ENOSPC, "x").message.find("free some space"), std::string::npos);
  EXPECT_NE(error_from_errno(EDQUOT, "x").message.find("quota"), std::string::npos);
  EXPECT_NE(error_from_errno(EROFS, "x").message.find("read-only"), std::string::npos);
  EXPECT_NE(error_from_errno(EFBIG, "x").message.find("ulimit"), std::string::npos);
}

TEST(Log, KeepsMessagesAtOrAboveItsLevel) {
  const TempStore temp;
  const std::string path = temp.root() + "/log";
  ASSERT_TRUE(open_log(path, LogLevel::warning));
  write_log(LogLevel::error, "an error");
  write_log(LogLevel::warning, "a warning");
  write_log(LogLevel::info, "an info");
  write_log(LogLevel::debug, "a detail");
  const std::string text = bytes_of_file(path);
  EXPECT_NE(text.find("an error"), std::string::npos);
  EXPECT_NE(text.find("a warning"), std::string::npos);
  EXPECT_EQ(text.find("an info"), std::string::npos);
  EXPECT_EQ(text.find("a detail"), std::string::npos);
  EXPECT_FALSE(open_log(temp.root() + "/no/such/folder", LogLevel::info));
  ASSERT_TRUE(open_log(path, LogLevel::debug));
  write_log(LogLevel::debug, "a detail");
  EXPECT_NE(bytes_of_file(path).find("a detail"), std::string::npos);
  ASSERT_TRUE(open_log("/dev/null", LogLevel::error));
}

}  // namespace
}  // namespace arborfs
