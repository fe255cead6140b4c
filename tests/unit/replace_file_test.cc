// A file that another program writes while arborfs replaces it keeps what that program wrote, at every point of the
// replacement.

#include "core/os/replace_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/support/acts.h"
#include "tests/support/faulty_disk.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of_file;
using testing::Fault;
using testing::FaultyDisk;
using testing::TempStore;

constexpr const char* kRead = "as it was read";
constexpr const char* kOurs = "ours";
constexpr const char* kTheirs = "theirs, written";  // longer than kRead

/// Another program acts before or after the n-th exchange.
class BusyDisk : public FaultyDisk {
 public:
  std::function<void()> before[2];
  std::function<void()> after[2];
  bool cannot_exchange = false;
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    if (cannot_exchange) {
      return Error{Errc::unsupported, "cannot exchange"};
    }
    const int at = std::min(exchanges_++, 1);
    act(before[at]);
    auto done = FaultyDisk::exchange(folder, name, other);
    act(after[at]);
    return done;
  }

 private:
  static void act(std::function<void()>& what) {
    if (const auto now = std::exchange(what, nullptr)) {
      now();
    }
  }
  int exchanges_ = 0;
};

class ReplaceFile : public ::testing::Test {
 protected:
  ReplaceFile() { put("file", kRead); }
  void put(const std::string& name, const std::string& text) const { std::ofstream(root_ / name) << text; }
  /// As programs that write a new file and rename it do.
  void put_anew(const std::string& text) const {
    put("new", text);
    fs::rename(root_ / "new", root_ / "file");
  }
  [[nodiscard]] std::string text() const { return bytes_of_file((root_ / "file").string()); }
  [[nodiscard]] bool has_fresh() const { return fs::exists(root_ / "fresh"); }
  Result<bool> replace() {
    put("fresh", kOurs);
    const auto folder = Dir::open_root(root_.string());
    EXPECT_TRUE(folder);
    return replace_as_read(disk_, *folder, "fresh", "file", [](const File& old) {
      const auto text = old.read(0, 100);
      return text && *text == kRead;
    });
  }
  void expect_theirs(const Result<bool>& replaced) const {
    ASSERT_TRUE(replaced) << replaced.error().message;
    EXPECT_FALSE(*replaced);
    EXPECT_EQ(text(), kTheirs);
    EXPECT_FALSE(has_fresh());
  }
  void expect_ours(const Result<bool>& replaced) const {
    ASSERT_TRUE(replaced) << replaced.error().message;
    EXPECT_TRUE(*replaced);
    EXPECT_EQ(text(), kOurs);
    EXPECT_FALSE(has_fresh());
  }

  TempStore temp_;
  const fs::path root_ = temp_.root();
  BusyDisk disk_;
};

TEST_F(ReplaceFile, AnUnchangedFileIsReplaced) {
  expect_ours(replace());
}

TEST_F(ReplaceFile, WithoutExchangesAnUnchangedFileIsReplacedAndAChangedOneStays) {
  disk_.cannot_exchange = true;
  expect_ours(replace());
  put("file", kTheirs);
  expect_theirs(replace());
}

TEST_F(ReplaceFile, AChangeBeforeItStays) {
  put("file", kTheirs);
  expect_theirs(replace());
}

TEST_F(ReplaceFile, AChangeInPlaceRightBeforeTheExchangeStays) {
  disk_.before[0] = [&] { put("file", kTheirs); };
  expect_theirs(replace());
}

TEST_F(ReplaceFile, ANewFileOfTheNameRightBeforeTheExchangeStays) {
  disk_.before[0] = [&] { put_anew(kTheirs); };
  expect_theirs(replace());
}

TEST_F(ReplaceFile, AWriteThroughADescriptorFromBeforeTheExchangeStays) {
  std::ofstream writer;
  disk_.before[0] = [&] { writer.open(root_ / "file"); };
  disk_.after[0] = [&] { writer << kTheirs << std::flush; };  // still open
  expect_theirs(replace());
  writer.close();
  EXPECT_EQ(text(), kTheirs);
}

TEST_F(ReplaceFile, AFileThatIsOpenForWritingIsGivenBackBeforeItIsWritten) {
  std::ofstream writer(root_ / "file", std::ios::app);
  const auto replaced = replace();
  ASSERT_TRUE(replaced);
  EXPECT_FALSE(*replaced);
  writer << " and more" << std::flush;
  EXPECT_EQ(text(), std::string(kRead) + " and more");
}

TEST_F(ReplaceFile, TheNewestOfTwoChangesStays) {
  disk_.before[0] = [&] { put("file", "an older change"); };
  disk_.after[0] = [&] { put("file", kTheirs); };  // on top of ours
  const auto replaced = replace();
  ASSERT_TRUE(replaced);
  EXPECT_TRUE(*replaced);
  EXPECT_EQ(text(), kTheirs);
  EXPECT_FALSE(has_fresh());
}

TEST_F(ReplaceFile, AFileThatIsRemovedMeanwhileStaysAway) {
  fs::remove(root_ / "file");
  const auto replaced = replace();
  ASSERT_TRUE(replaced);
  EXPECT_FALSE(*replaced);
  EXPECT_FALSE(fs::exists(root_ / "file"));
  EXPECT_FALSE(has_fresh());
}

TEST_F(ReplaceFile, AFailingDiskLosesNothing) {
  for (const bool is_changed : {false, true}) {
    for (unsigned at = 1; at < 5; ++at) {
      for (const unsigned count : {1U, FaultyDisk::kForGood}) {
        put("file", kRead);
        disk_ = BusyDisk();
        disk_.before[0] = is_changed ? std::function<void()>([&] { put("file", kTheirs); }) : nullptr;
        disk_.arm(Fault::io, at, count);
        const auto replaced = replace();
        disk_.disarm();
        const std::string wanted = is_changed ? kTheirs : kRead;
        if (replaced && *replaced) {
          EXPECT_EQ(text(), kOurs) << at;
          EXPECT_FALSE(is_changed);
        } else if (text() != wanted) {
          EXPECT_EQ(bytes_of_file((root_ / "fresh").string()), wanted) << at;
          ASSERT_FALSE(replaced);
          EXPECT_NE(replaced.error().message.find("rename it to file"), std::string::npos) << replaced.error().message;
        }
        fs::remove(root_ / "fresh");
      }
    }
  }
}

}  // namespace
}  // namespace arborfs
