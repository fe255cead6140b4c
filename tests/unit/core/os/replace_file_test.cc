// A file that another program writes while arborfs replaces or removes it keeps what that program wrote, at every
// point.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "core/os/temp_file.h"
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

/// Another program acts before or after the n-th exchange or rename.
class BusyDisk : public FaultyDisk {
 public:
  std::function<void()> before[2];
  std::function<void()> after[2];
  bool cannot_exchange = false;
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    if (cannot_exchange) {
      return Error{Errc::unsupported, "cannot exchange"};
    }
    return among_others([&] { return FaultyDisk::exchange(folder, name, other); });
  }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    return among_others([&] { return FaultyDisk::rename(from, name, to, new_name, existing); });
  }

 private:
  Result<void> among_others(const std::function<Result<void>()>& what) {
    const int at = std::min(calls_++, 1);
    act(before[at]);
    auto done = what();
    act(after[at]);
    return done;
  }
  static void act(std::function<void()>& what) {
    if (const auto now = std::exchange(what, nullptr)) {
      now();
    }
  }
  int calls_ = 0;
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
    return replace_as_read(disk_, *folder, "fresh", "file", is_as_read);
  }
  static bool is_as_read(const File& old) {
    const auto text = old.read(0, 100);
    return text && *text == kRead;
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

class RemoveFile : public ReplaceFile {
 protected:
  Result<bool> remove() {
    const auto folder = Dir::open_root(root_.string());
    EXPECT_TRUE(folder);
    return remove_as_read(disk_, *folder, "file", "aside", is_as_read);
  }
  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(root_ / name); }
  void expect_kept(const Result<bool>& removed, const std::string& wanted) const {
    ASSERT_TRUE(removed) << removed.error().message;
    EXPECT_FALSE(*removed);
    EXPECT_EQ(text(), wanted);
    EXPECT_FALSE(has("aside"));
  }
};

TEST_F(RemoveFile, AnUnchangedFileIsRemoved) {
  const auto removed = remove();
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(*removed);
  EXPECT_FALSE(has("file"));
  EXPECT_FALSE(has("aside"));
}

TEST_F(RemoveFile, AChangedFileStays) {
  put("file", kTheirs);
  expect_kept(remove(), kTheirs);
}

TEST_F(RemoveFile, AChangeRightBeforeItStays) {
  disk_.before[0] = [&] { put("file", kTheirs); };
  expect_kept(remove(), kTheirs);
}

TEST_F(RemoveFile, ANewFileOfTheNameRightBeforeItStays) {
  disk_.before[0] = [&] { put_anew(kTheirs); };
  expect_kept(remove(), kTheirs);
}

TEST_F(RemoveFile, AFileThatIsOpenForWritingStays) {
  std::ofstream writer(root_ / "file", std::ios::app);
  expect_kept(remove(), kRead);
  writer << " and more" << std::flush;
  EXPECT_EQ(text(), std::string(kRead) + " and more");
}

TEST_F(RemoveFile, AFileThatIsCreatedMeanwhileReplacesTheRemovedOne) {
  disk_.after[0] = [&] { put("file", kTheirs); };
  const auto removed = remove();
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(*removed);
  EXPECT_EQ(text(), kTheirs);
  EXPECT_FALSE(has("aside"));
}

TEST_F(RemoveFile, TwoNewFilesAreBothKept) {
  std::ofstream writer(root_ / "file", std::ios::app);
  disk_.after[0] = [&] { put("file", kTheirs); };
  const auto removed = remove();
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Errc::already_exists);
  EXPECT_NE(removed.error().message.find("is in the file aside"), std::string::npos) << removed.error().message;
  EXPECT_EQ(text(), kTheirs);
  EXPECT_EQ(bytes_of_file((root_ / "aside").string()), kRead);
}

TEST_F(RemoveFile, AFailingDiskLosesNothing) {
  for (const bool is_changed : {false, true}) {
    for (unsigned at = 1; at < 4; ++at) {
      for (const unsigned count : {1U, FaultyDisk::kForGood}) {
        put("file", kRead);
        disk_ = BusyDisk();
        disk_.before[0] = is_changed ? std::function<void()>([&] { put("file", kTheirs); }) : nullptr;
        disk_.arm(Fault::io, at, count);
        const auto removed = remove();
        disk_.disarm();
        const std::string wanted = is_changed ? kTheirs : kRead;
        if (removed && *removed) {
          EXPECT_FALSE(has("file") || has("aside") || is_changed) << at;
        } else if (!has("file")) {
          EXPECT_EQ(bytes_of_file((root_ / "aside").string()), wanted) << at;
          ASSERT_FALSE(removed);
          EXPECT_NE(removed.error().message.find("is in the file aside"), std::string::npos) << removed.error().message;
        } else {
          EXPECT_EQ(text(), wanted) << at;
          EXPECT_FALSE(has("aside")) << at;
        }
        fs::remove(root_ / "aside");
      }
    }
  }
}

}  // namespace
}  // namespace arborfs
