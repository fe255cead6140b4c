// A file or folder that the test may not read, also if it runs as root.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace arborfs::testing {

/// Makes `path` unreadable until the object is destroyed. Root becomes another user meanwhile, who owns all of `root`.
class Unreadable {
 public:
  Unreadable(std::filesystem::path root, std::filesystem::path path)
      : root_(std::move(root)), path_(std::move(path)), before_(std::filesystem::status(path_).permissions()) {
    constexpr uid_t kNobody = 65534;
    std::filesystem::permissions(path_, std::filesystem::perms::none);
    if (::geteuid() == 0) {
      give_to(kNobody);
      EXPECT_EQ(::seteuid(kNobody), 0);
    }
  }
  ~Unreadable() {
    if (::getuid() == 0) {
      EXPECT_EQ(::seteuid(0), 0);
      give_to(0);
    }
    std::filesystem::permissions(path_, before_);
  }
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;

 private:
  void give_to(uid_t user) const {
    EXPECT_EQ(::chown(root_.c_str(), user, user), 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      EXPECT_EQ(::lchown(entry.path().c_str(), user, user), 0);
    }
  }
  const std::filesystem::path root_;
  const std::filesystem::path path_;
  const std::filesystem::perms before_;
};

}  // namespace arborfs::testing
