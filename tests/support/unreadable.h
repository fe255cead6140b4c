// A file or folder that the test may not read, also if it runs as root.
#pragma once

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

namespace arborfs::testing {

/// Makes `path` unreadable until the object is destroyed. The calling thread, if it is root's, does without root's right
/// to read everything meanwhile; other threads keep it.
class Unreadable {
 public:
  explicit Unreadable(std::filesystem::path path)
      : path_(std::move(path)), before_(std::filesystem::status(path_).permissions()) {
    std::filesystem::permissions(path_, std::filesystem::perms::none);
    EXPECT_EQ(::syscall(SYS_capget, &header_, rights_.data()), 0);
    auto fewer = rights_;
    fewer[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(::syscall(SYS_capset, &header_, fewer.data()), 0);
  }
  ~Unreadable() {
    EXPECT_EQ(::syscall(SYS_capset, &header_, rights_.data()), 0);
    std::filesystem::permissions(path_, before_);
  }
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;

 private:
  const std::filesystem::path path_;
  const std::filesystem::perms before_;
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> rights_{};
};

}  // namespace arborfs::testing
