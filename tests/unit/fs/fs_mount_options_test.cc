// The options of -o, and the places where a mount is allowed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fs/fuse/mountpoint.h"
#include "fs/mount.h"

namespace arborfs {
namespace {

TEST(MountOptions, KnownOptionsAreTaken) {
  const auto options = parse_mount_options("ro,allow_other,xattr,noinotify,nonotify,agent_dir=/a b,debug");
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->read_only && options->allow_other && options->xattr && options->debug);
  EXPECT_FALSE(options->inotify || options->notify);
  ASSERT_EQ(options->stores.size(), 1U);
  EXPECT_EQ(options->stores[0].agent, "omp");
  EXPECT_EQ(options->stores[0].dir, "/a b");
}

TEST(MountOptions, WriteDefaultsAreConservative) {
  const auto plain = parse_mount_options("");
  EXPECT_FALSE(plain->writing.write_live || plain->writing.allow_delete || plain->writing.history);
  EXPECT_EQ(plain->writing.durability, Durability::synced);
  const auto told = parse_mount_options("live=write,allow_delete,history,durability=none");
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->writing.write_live && told->writing.allow_delete && told->writing.history);
  EXPECT_EQ(told->writing.durability, Durability::none);
}

TEST(MountOptions, NothingIsRedactedUnlessToldSo) {
  EXPECT_FALSE(parse_mount_options("")->redact);
  EXPECT_TRUE(parse_mount_options("redact,rw")->redact);
}

TEST(MountOptions, LastOfTwoOptionsWins) {
  EXPECT_FALSE(parse_mount_options("ro,rw")->read_only);
  EXPECT_TRUE(parse_mount_options("rw,ro")->read_only);
}

TEST(MountOptions, FstabOnlyOptionsAreIgnored) {
  EXPECT_TRUE(
      parse_mount_options("rw,nosuid,nodev,user,noauto,_netdev,x-systemd.automount,X-a=b,fsname=z,subtype=y,,"));
  EXPECT_TRUE(parse_mount_options(""));
}

TEST(MountOptions, LibfuseOptionsArePassedOn) {
  const auto options = parse_mount_options("noexec,auto_unmount,max_read=65536,index_memory=3");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->fuse_options, (std::vector<std::string>{"noexec", "auto_unmount"}));
  EXPECT_EQ(options->max_read, 65536U);
  EXPECT_EQ(options->index_bytes, 3U << 20U);
}

TEST(MountOptions, UnknownOptionsAreNamed) {
  for (const char* list : {"bogus", "ro,bogus=1", "max_read=x", "max_read=", "max_read=0", "max_read=64k",
                           "max_read=4294967296", "index_memory=", "index_memory=1x", "index_memory=-1",
                           "index_memory=99999999", "live=read", "live", "durability=some"}) {
    const auto options = parse_mount_options(list);
    ASSERT_FALSE(options) << list;
    EXPECT_EQ(options.error().code, Errc::invalid_argument);
  }
  EXPECT_NE(parse_mount_options("ro,bogus=1").error().message.find("'bogus=1'"), std::string::npos);
}

TEST(MountOptions, BackslashEscapesAComma) {
  EXPECT_EQ(parse_mount_options("agent_dir=/a\\,b\\\\c,ro")->stores.at(0).dir, "/a,b\\c");
}

class MountpointTest : public ::testing::Test {
 protected:
  MountpointTest() : root_(std::filesystem::temp_directory_path() / ("arborfs-mp-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(root_ / "store/sessions");
    std::filesystem::create_directories(root_ / "beside");
    std::filesystem::create_symlink(root_ / "store/sessions", root_ / "link");
  }
  ~MountpointTest() override { std::filesystem::remove_all(root_); }
  [[nodiscard]] std::string at(const char* below) const { return (root_ / below).string(); }
  [[nodiscard]] bool is_apart(const std::string& mountpoint, const std::string& folder) const {
    const auto resolved = resolve_mountpoint(mountpoint);
    return resolved && check_apart(*resolved, {folder});
  }
  const std::filesystem::path root_;
};

TEST_F(MountpointTest, FolderBesideTheStoreIsAllowed) {
  EXPECT_TRUE(is_apart(at("beside"), at("store")));
}

TEST_F(MountpointTest, StoreItselfInsideAndAroundAreRefused) {
  EXPECT_FALSE(is_apart(at("store"), at("store")));
  EXPECT_FALSE(is_apart(at("store/sessions"), at("store")));
  EXPECT_FALSE(is_apart(root_.string(), at("store")));
  EXPECT_FALSE(is_apart("/", at("store")));
}

TEST_F(MountpointTest, LinksAndDotDotHideNoOverlap) {
  EXPECT_FALSE(is_apart(at("link"), at("store")));
  EXPECT_FALSE(is_apart(at("beside/../store/./sessions/"), at("store")));
  EXPECT_FALSE(is_apart(at("beside"), at("beside/not/yet/there")));
}

TEST_F(MountpointTest, OnlyFoldersAreMountPoints) {
  EXPECT_EQ(resolve_mountpoint(at("missing")).error().code, Errc::not_found);
  EXPECT_EQ(resolve_mountpoint("/proc/self/status").error().code, Errc::invalid_argument);
  EXPECT_EQ(*resolve_mountpoint(at("link")), std::filesystem::canonical(root_ / "store/sessions").string());
}

TEST_F(MountpointTest, UnmountOfAPlainFolderIsNoError) {
  std::string said;
  EXPECT_TRUE(unmount(at("beside"), &said));
  EXPECT_NE(said.find("nothing is mounted"), std::string::npos);
}

TEST_F(MountpointTest, ForeignMountsAreNotUnmounted) {
  EXPECT_EQ(mount_at("/proc")->type, "proc");
  EXPECT_FALSE(unmount("/proc"));
}

TEST(MountOptions, StoresAreRepeatableAndNameAKnownAgent) {
  const auto options = parse_mount_options("store=pi=/p,agent_dir=/o,store=omp=/a=b");
  ASSERT_TRUE(options);
  ASSERT_EQ(options->stores.size(), 3U);
  EXPECT_EQ(options->stores[0].agent, "pi");
  EXPECT_EQ(options->stores[0].dir, "/p");
  EXPECT_EQ(options->stores[1].agent, "omp");
  EXPECT_EQ(options->stores[2].dir, "/a=b");
  const auto last = parse_mount_options("agent_dir=/o,store=omp=/a,agent_dir=/p");
  ASSERT_TRUE(last);
  ASSERT_EQ(last->stores.size(), 2U);
  EXPECT_EQ(last->stores[1].dir, "/p");
  EXPECT_TRUE(parse_mount_options("agent_dir=")->stores.empty());
  const auto unknown = parse_mount_options("store=nobody=/p");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("omp, pi"), std::string::npos) << unknown.error().message;
}

}  // namespace
}  // namespace arborfs
