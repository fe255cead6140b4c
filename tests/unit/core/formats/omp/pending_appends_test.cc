// Appends whose process is killed inside write(2) (CONTRACT.md 7.2). Once the next process begins to write, the log
// holds them whole or not at all, and no byte that another program wrote is ever cut off.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "core/formats/omp/log/dialect.h"
#include "tests/support/stage.h"

namespace arborfs::omp {
namespace {

namespace fs = std::filesystem;
using testing::Stage;
using testing::Storage;
using testing::TempStore;

/// A disk whose process is killed inside a write to a log: that many bytes are written, and every later call fails.
class KillingDisk : public Disk {
 public:
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  void kill_behind(std::size_t bytes) { left_ = bytes; }
  void revive() {
    left_ = kNever;
    is_dead_ = false;
  }
  Result<UniqueFd> open_append(const Dir& folder, const std::string& name) override {
    return is_dead_ ? Result<UniqueFd>(dead()) : Disk::open_append(folder, name);
  }
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    if (is_dead_) {
      return dead();
    }
    const bool is_log = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    if (!is_log || left_ == kNever) {
      return Disk::write(fd, bytes);
    }
    is_dead_ = true;
    return left_ == 0 ? Result<std::size_t>(dead()) : Disk::write(fd, bytes.substr(0, left_));
  }
  Result<void> truncate(int fd, std::uint64_t size) override { return is_dead_ ? dead() : Disk::truncate(fd, size); }
  Result<void> sync(int fd) override { return is_dead_ ? dead() : Disk::sync(fd); }
  Result<void> remove(const Dir& folder, const std::string& name) override {
    const bool is_lock = name.ends_with(".lock");  // the kernel passes on a dead process's lock
    return is_dead_ && !is_lock ? dead() : Disk::remove(folder, name);
  }

 private:
  static Error dead() { return {Errc::io, "killed"}; }
  std::size_t left_ = kNever;
  bool is_dead_ = false;
};

class PendingAppendsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kLine = 3000;
  static constexpr int kLines = 5;

  /// Several lines, together longer than a page.
  static AppendCommand large() {
    std::string text;
    for (int line = 0; line < kLines; ++line) {
      text += R"({"type":"custom","customType":"x","data":")" + std::string(kLine, 'x') + "\"}\n";
    }
    auto command = json_command(text, Dialect::omp13, 1771237231000);
    EXPECT_TRUE(command);
    return std::move(*command);
  }
  /// Appends it, killed when this many bytes of it are written.
  void be_killed_behind(std::size_t bytes) {
    disk_.kill_behind(bytes);
    EXPECT_FALSE(stage_.writer().append(session(), large()));
    restart();
  }
  void restart() {
    stage_.stop();
    disk_.revive();
    stage_.start();
  }
  SessionPtr session() { return stage_.catalog().at(place_); }
  [[nodiscard]] fs::path log() const { return stage_.temp().log("-work", kName); }
  std::string bytes() { return stage_.bytes(session()); }
  [[nodiscard]] std::size_t notes() const {
    const fs::path folder = fs::path(stage_.temp().root()) / "state" / "appending";
    return fs::exists(folder)
               ? static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()))
               : 0;
  }
  void expect_next_append() {
    const std::string before = bytes();
    const auto written = stage_.writer().append(session(), Stage::text("the next one"));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_TRUE(bytes().starts_with(before));
    EXPECT_EQ(Stage::leaf_id(session()), written->id);
    EXPECT_EQ(notes(), 0U);
  }

  static constexpr const char* kName = "2026-02-16T10-20-30-000Z_s1";
  KillingDisk disk_;
  Stage stage_{Storage::files, disk_};
  const LogPlace place_ = stage_.add_small(kName)->place();
  const std::string before_ = bytes();
};

TEST_F(PendingAppendsTest, PartialAppendIsTruncatedOnStart) {
  for (const std::size_t part : {1UL, 4096UL, kLine, kLine + 200, 2 * kLine, kLines * kLine}) {
    be_killed_behind(part);
    EXPECT_EQ(bytes().size(), before_.size() + part);
    EXPECT_EQ(notes(), 1U);
    stage_.writer().take_back_parts();
    EXPECT_EQ(bytes(), before_) << part;
    EXPECT_EQ(Stage::leaf_id(session()), "aaaa0002") << part;
    EXPECT_EQ(notes(), 0U);
  }
  expect_next_append();
}

TEST_F(PendingAppendsTest, PartialAppendIsTruncatedBeforeTheNextWrite) {
  be_killed_behind(kLine + 200);
  ASSERT_TRUE(stage_.writer().append(session(), Stage::text("the next one")));
  EXPECT_TRUE(bytes().starts_with(before_));
  EXPECT_EQ(stage_.lines(session()).size(), 4U);
  EXPECT_EQ(notes(), 0U);
}

TEST_F(PendingAppendsTest, PartialAppendAfterATornLineIsTruncated) {
  std::ofstream(log(), std::ios::app | std::ios::binary) << "{\"torn";
  const std::string torn = before_ + "{\"torn";
  restart();
  be_killed_behind(4096);
  stage_.writer().take_back_parts();
  EXPECT_EQ(bytes(), torn);
}

TEST_F(PendingAppendsTest, CompleteAppendIsKept) {
  be_killed_behind(KillingDisk::kNever - 1);
  const std::string whole = bytes();
  EXPECT_EQ(notes(), 1U);
  stage_.writer().take_back_parts();
  EXPECT_EQ(bytes(), whole);
  EXPECT_EQ(stage_.lines(session()).size(), 3U + kLines);
  expect_next_append();
}

TEST_F(PendingAppendsTest, ForeignLinesAfterAPartialAppendAreKept) {
  be_killed_behind(kLine + 200);
  std::ofstream(log(), std::ios::app | std::ios::binary) << "\n"
                                                         << TempStore::user("aaaa0003", "aaaa0002", "theirs") << "\n";
  const std::string theirs = bytes();
  stage_.writer().take_back_parts();
  EXPECT_EQ(bytes(), theirs);
  EXPECT_EQ(Stage::leaf_id(session()), "aaaa0003");
  EXPECT_EQ(notes(), 0U);
  expect_next_append();
}

TEST_F(PendingAppendsTest, ReplacedFileIsLeftAlone) {
  be_killed_behind(kLine + 200);
  const std::string part = bytes();
  stage_.temp().replace("-work", kName, part);
  restart();
  stage_.writer().take_back_parts();
  EXPECT_EQ(bytes(), part);
  EXPECT_EQ(notes(), 0U);
}

TEST_F(PendingAppendsTest, PartialAppendStaysWhileAnAgentHoldsTheLog) {
  be_killed_behind(kLine + 200);
  const std::string part = bytes();
  {
    const std::ofstream agent(log(), std::ios::app | std::ios::binary);
    stage_.writer().take_back_parts();
    EXPECT_EQ(bytes(), part);
    EXPECT_EQ(notes(), 1U);
  }
  stage_.writer().take_back_parts();
  EXPECT_EQ(bytes(), before_);
}

TEST_F(PendingAppendsTest, SmallAppendIsNotRecorded) {
  disk_.kill_behind(0);
  EXPECT_FALSE(stage_.writer().append(session(), Stage::text("small")));
  EXPECT_EQ(notes(), 0U);
  restart();
  EXPECT_EQ(bytes(), before_);
}

TEST_F(PendingAppendsTest, CompletedLargeAppendLeavesNoNote) {
  ASSERT_TRUE(stage_.writer().append(session(), large()));
  EXPECT_EQ(notes(), 0U);
  EXPECT_EQ(stage_.lines(session()).size(), 3U + kLines);
}

TEST_F(PendingAppendsTest, TruncatedNoteIsIgnored) {
  be_killed_behind(kLine + 200);
  const std::string part = bytes();
  const fs::path note = *fs::directory_iterator(fs::path(stage_.temp().root()) / "state" / "appending");
  fs::resize_file(note, fs::file_size(note) - 1);
  stage_.writer().take_back_parts();
  EXPECT_EQ(bytes(), part);
  ASSERT_TRUE(stage_.writer().append(session(), Stage::text("the next one")));
  EXPECT_EQ(notes(), 0U);
}

TEST_F(PendingAppendsTest, NoteOfAMissingLogIsRemoved) {
  be_killed_behind(kLine + 200);
  fs::remove(log());
  restart();
  stage_.writer().take_back_parts();
  EXPECT_EQ(notes(), 0U);
}

}  // namespace
}  // namespace arborfs::omp
