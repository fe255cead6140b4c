#include "core/os/submounts.h"

#include <gtest/gtest.h>

namespace arborfs {

namespace {

using Names = std::set<std::string>;

TEST(MountsBelow, NamesMountsAtAndBelowAFolder) {
  const std::string text =
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "40 22 0:30 / /s/sessions/nfs rw,relatime shared:1 - nfs4 host:/x rw\n"
      "41 22 0:31 / /s/sessions/deep/in/it rw - tmpfs none rw\n"
      "42 22 0:32 / /s/sessions/with\\040space\\134 rw - fuse.x x rw\n"
      "43 22 0:33 / /s/sessions rw - tmpfs none rw\n"
      "44 22 0:34 / /s/sessions2/other rw - tmpfs none rw\n"
      "45";
  EXPECT_EQ(mounts_below(text, "/s/sessions"), (Names{"nfs", "deep", "with space\\"}));
  EXPECT_EQ(mounts_below(text, "/s/sessions2"), Names{"other"});
  EXPECT_EQ(mounts_below(text, "/"), Names{"s"});
  EXPECT_EQ(mounts_below(std::string_view(), "/s"), Names{});
}

TEST(MountsBelow, FindsMountsOfThisSystem) {
  EXPECT_TRUE(mounts_below("/").contains("proc"));
  EXPECT_EQ(mounts_below("/no/such/folder"), Names{});
}

TEST(MountsServedElsewhere, AreThoseOfNetworksAndFuse) {
  const std::string text =
      "22 1 8:1 / / rw - fuse.fuse-overlayfs x rw\n"
      "40 22 0:30 / /s/fuse rw shared:1 - fuse.bindfs x rw\n"
      "41 22 0:31 / /s/nfs rw - nfs4 host:/x rw\n"
      "42 22 0:32 / /s/hidden rw - nfs host:/y rw\n"
      "43 22 0:33 / /s/hidden rw - tmpfs none rw\n"
      "44 22 8:2 / /s/disk rw - ext4 /dev/sdb1 rw\n"
      "45";
  EXPECT_EQ(mounts_served_elsewhere(text), (Names{"/s/fuse", "/s/nfs"}));
}

}  // namespace

}  // namespace arborfs
