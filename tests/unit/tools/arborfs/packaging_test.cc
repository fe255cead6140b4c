// The systemd unit: its limits, the settings that it must not have so that a user can mount, and a check by systemd
// itself.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "fs/mount.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"

namespace {

const std::string kUnit = std::string(arborfs::tests::kSourceDir) + "/packaging/systemd/arborfs.service";

using Setting = std::pair<std::string, std::string>;

/// NAME=VALUE of the section [Service], in order.
std::vector<Setting> service_settings() {
  std::vector<Setting> found;
  std::ifstream in(kUnit);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const auto equals = line.find('=');
    if (line.starts_with('[')) {
      inside = line == "[Service]";
    } else if (inside && !line.starts_with('#') && equals != std::string::npos) {
      found.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  EXPECT_GT(found.size(), 5U);
  return found;
}

/// The last value of this setting that starts with `beginning`, without it; "" if there is none.
std::string value_of(const std::string& name, const std::string& beginning = "") {
  std::string value;
  for (const auto& [known, text] : service_settings()) {
    if (known == name && text.starts_with(beginning)) {
      value = text.substr(beginning.size());
    }
  }
  return value;
}

TEST(SystemdUnit, LimitsResources) {
  EXPECT_EQ(value_of("UMask"), "0077");
  EXPECT_EQ(value_of("LimitCORE"), "0");
  EXPECT_EQ(value_of("KeyringMode"), "private");
  for (const char* name :
       {"LimitNOFILE", "MemoryHigh", "MemoryMax", "TasksMax", "TimeoutStopSec", "UnsetEnvironment"}) {
    EXPECT_NE(value_of(name), "") << name;
  }
}

TEST(SystemdUnit, MountsReadOnlyByDefault) {
  const auto options = arborfs::parse_mount_options(value_of("Environment", "ARBORFS_OPTIONS="));
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_TRUE(options->read_only);
  EXPECT_FALSE(options->allow_other);
  EXPECT_FALSE(options->writing.allow_delete);
}

TEST(SystemdUnit, DescriptionSaysReadOnly) {
  std::ifstream in(kUnit);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::string description = text.substr(text.find("Description="));
  EXPECT_NE(description.substr(0, description.find('\n')).find("read-only"), std::string::npos);
}

TEST(SystemdUnit, NotifiesOnceTheMountWorks) {
  EXPECT_EQ(value_of("Type"), "notify");
  EXPECT_NE(value_of("ExecStart").find(" mount -f "), std::string::npos) << "only the foreground notifies";
}

// Each of these prevents fusermount3 from running set-uid root, or hides the mount from other processes.
TEST(SystemdUnit, SetsNothingThatBreaksFusermount) {
  for (const auto& [name, value] : service_settings()) {
    for (const char* beginning :
         {"NoNewPrivileges", "Private", "Protect", "Restrict", "SystemCall", "MemoryDenyWriteExecute",
          "LockPersonality", "ReadOnlyPaths", "InaccessiblePaths", "BindPaths", "TemporaryFileSystem", "RootDirectory",
          "DynamicUser", "CapabilityBoundingSet", "MountFlags", "User", "RemoveIPC"}) {
      EXPECT_FALSE(name.starts_with(beginning)) << name << "=" << value;
    }
  }
}

TEST(SystemdUnit, PassesSystemdAnalyze) {
  if (std::system("systemd-analyze --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "systemd-analyze is not installed";
  }
  const arborfs::testing::TempStore scratch;  // a runtime folder, as a login would provide
  const std::string command =
      "HOME=/root XDG_RUNTIME_DIR='" + scratch.root() + "' systemd-analyze --user verify --man=no '" + kUnit + "' 2>&1";
  FILE* said = ::popen(command.c_str(), "r");
  ASSERT_NE(said, nullptr);
  std::string text;
  std::array<char, 512> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), said)) {
    text.append(buffer.data(), got);
  }
  const int status = ::pclose(said);
  if (text.find("Failed to initialize manager") != std::string::npos) {
    GTEST_SKIP() << "systemd-analyze cannot run here: " << text;
  }
  EXPECT_EQ(text, "");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
