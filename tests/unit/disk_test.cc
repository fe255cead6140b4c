// The disk refuses names that lead elsewhere, and says what went wrong in words of this domain.

#include "core/env/disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/base/log.h"
#include "tests/support/acts.h"

namespace arborfs {
namespace {

using testing::bytes_of_file;
using testing::TempStore;

TEST(Disk, NamesOfMoreThanOneComponentAreRefused) {
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

TEST(Disk, AFolderIsNoFileToWriteTo) {
  const TempStore temp;
  std::filesystem::create_directories(temp.root() + "/x");
  const auto folder = Dir::open_root(temp.root());
  ASSERT_TRUE(folder);
  EXPECT_FALSE(Disk::real().open_append(*folder, "x"));
  EXPECT_EQ(File::open_in(*folder, "x").error().code, Errc::corrupt);
  EXPECT_FALSE(Disk::real().make_folder(*folder, std::string(255, 'y') + "y", 0700));
}

TEST(Disk, ADiskThatTakesNothingIsFull) {
  class Full : public Disk {
   public:
    Result<std::size_t> write(int /*fd*/, std::string_view /*bytes*/) override { return std::size_t{0}; }
  };
  Full full;
  EXPECT_EQ(write_all(full, -1, "x").error().code, Errc::no_space);
  EXPECT_TRUE(write_all(full, -1, ""));
}

TEST(Disk, ABrokenDescriptorIsAnError) {
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

TEST(Error, ErrnoBecomesAWordOfThisDomainAndAdvice) {
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
  EXPECT_NE(error_from_errno(ENOSPC, "x").message.find("make room"), std::string::npos);
  EXPECT_NE(error_from_errno(EDQUOT, "x").message.find("quota"), std::string::npos);
  EXPECT_NE(error_from_errno(EROFS, "x").message.find("read-only"), std::string::npos);
  EXPECT_NE(error_from_errno(EFBIG, "x").message.find("ulimit"), std::string::npos);
}

TEST(Log, HoldsWhatIsAtLeastAsGraveAsAskedFor) {
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
