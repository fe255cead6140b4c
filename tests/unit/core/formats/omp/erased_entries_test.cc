// Acknowledged entries that another program's rewrite left out (CONTRACT.md 6.10, FAILURES.md F4).

#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>

#include "core/formats/omp/log/reader.h"
#include "core/views/session_facts.h"
#include "tests/support/stage.h"

namespace arborfs::omp {
namespace {

namespace fs = std::filesystem;
using testing::Stage;
using testing::Storage;

class ErasedEntriesTest : public ::testing::Test {
 protected:
  /// As an agent that writes its log from memory: a new file under the log's name.
  void rewrite(const std::string& bytes) const {
    const fs::path log = stage_.temp().log("-work", session_->stem());
    std::ofstream(log.string() + ".new", std::ios::binary) << bytes;
    fs::rename(log.string() + ".new", log);
  }
  [[nodiscard]] SessionStatus status() const {
    EXPECT_TRUE(session_->refresh(Depth::index));
    return session_status(*session_, stage_.catalog());
  }
  std::string append(std::string_view words) {
    const auto written = stage_.writer().append(session_, Stage::text(words));
    EXPECT_TRUE(written);
    return written ? written->id : "";
  }
  [[nodiscard]] fs::path state(const char* below) const { return fs::path(stage_.temp().root()) / "state" / below; }

  mutable Stage stage_{Storage::files};
  SessionPtr session_ = stage_.add_small();
};

TEST_F(ErasedEntriesTest, ErasedEntriesAreReportedAndKept) {
  const std::string before = stage_.bytes(session_);
  const std::string first = append("mine");
  const std::string second = append("mine too");
  const std::string lines = stage_.bytes(session_).substr(before.size());
  EXPECT_TRUE(status().erased_entries.empty());
  rewrite(before);
  const auto now = status();
  EXPECT_EQ(now.erased_entries, (std::vector<std::string>{first, second}));
  std::ifstream kept(now.erased_file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), lines);
}

/// Copies that stay open add behind those of others, also after another one has replaced or removed their file.
TEST_F(ErasedEntriesTest, ProcessesAddToOneFileOfCopies) {
  const std::string state = stage_.temp().root() + "/copies";
  ErasedEntries one(state, "store", Disk::real());
  ErasedEntries other(state, "store", Disk::real());
  const auto line = [](const std::string& id) { return R"({"type":"message","id":")" + id + "\"}\n"; };
  one.acknowledge("log.jsonl", line("a1"));
  other.acknowledge("log.jsonl", line("b1") + line("b2"));
  one.acknowledge("log.jsonl", line("a2"));
  EXPECT_EQ(one.written("log.jsonl"), line("a1") + line("b1") + line("b2") + line("a2"));
  other.forget("log.jsonl", std::vector<std::string>{"b1"});
  one.acknowledge("log.jsonl", line("a3"));
  other.acknowledge("log.jsonl", line("b3"));
  EXPECT_EQ(one.written("log.jsonl"), line("a1") + line("b2") + line("a2") + line("a3") + line("b3"));
  other.forget("log.jsonl");
  one.acknowledge("log.jsonl", line("a4"));
  EXPECT_EQ(other.written("log.jsonl"), line("a4"));
  fs::rename(state, state + ".old");
  one.acknowledge("log.jsonl", line("a5"));
  EXPECT_EQ(other.written("log.jsonl"), line("a5"));
}

/// The number of bytes that this process has read.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string key;
  std::uint64_t value = 0;
  io >> key >> value;
  return key == "rchar:" ? value : 0;
}

TEST_F(ErasedEntriesTest, GiantStateFilesAreNotReadWhole) {
  constexpr std::uint64_t kGiant = 4ULL << 30;
  append("one");
  const fs::path file = fs::directory_iterator(state("written"))->path();
  const fs::path erased = state("erased") / (session_->stem() + "." + file.filename().string() + ".jsonl");
  fs::create_directories(erased.parent_path());
  std::ofstream(erased) << "";
  fs::resize_file(file, kGiant);
  fs::resize_file(erased, kGiant);
  const std::string before = stage_.bytes(session_);
  const std::uint64_t read = bytes_read();
  append("two");
  EXPECT_TRUE(status().erased_entries.empty());
  rewrite(before);
  static_cast<void>(status());
  EXPECT_LT(bytes_read() - read, 512U << 20);
  EXPECT_EQ(fs::file_size(erased), kGiant) << "what cannot be read is not replaced";
}

/// Otherwise each append would read all copies again, and add a line to the daemon's log.
TEST_F(ErasedEntriesTest, AFailureThatLastsIsNotTriedAgainUntilTheLogIsRewritten) {
  const std::string before = stage_.bytes(session_);
  append("one");
  const fs::path file = fs::directory_iterator(state("written"))->path();
  const fs::path erased = state("erased") / (session_->stem() + "." + file.filename().string() + ".jsonl");
  fs::create_directories(erased);  // cannot be read
  std::string line(1 << 20, 'x');
  std::ofstream(file, std::ios::app) << line << "\n";
  rewrite(before);
  static_cast<void>(status());
  const std::uint64_t read = bytes_read();
  for (int i = 0; i < 8; ++i) {
    append("more");
  }
  EXPECT_LT(bytes_read() - read, std::uint64_t{1} << 20U);
  fs::remove(erased);
  rewrite(before + "\n");
  EXPECT_EQ(status().erased_entries.size(), 9U) << "the next rewrite is compared again";
}

TEST_F(ErasedEntriesTest, LaterEntriesAreKeptAfterStateFilesAreRemoved) {
  const std::string before = stage_.bytes(session_);
  append("one");
  fs::remove_all(state("written"));
  append("two");
  for (const auto& file : fs::directory_iterator(state("written"))) {
    fs::remove(file.path());
  }
  const std::string last = append("three");
  const std::string more = append("four");
  rewrite(before);
  EXPECT_EQ(status().erased_entries, (std::vector<std::string>{last, more}));
}

TEST_F(ErasedEntriesTest, AlternatingSessionsAreKeptApart) {
  const std::string before = stage_.bytes(session_);
  const auto other = stage_.add("other", stage_.bytes(session_));
  const std::string mine = append("mine");
  ASSERT_TRUE(stage_.writer().append(other, Stage::text("another's")));
  const std::string again = append("mine too");
  rewrite(before);
  EXPECT_EQ(status().erased_entries, (std::vector<std::string>{mine, again}));
}

TEST_F(ErasedEntriesTest, RewriteWhileStoppedIsNoticed) {
  const std::string before = stage_.bytes(session_);
  const std::string id = append("mine");
  rewrite(before + testing::TempStore::user("aaaa0003", "aaaa0002", "theirs") + "\n");
  stage_.restart();
  session_ = stage_.catalog().at({"-work", session_->place().file});
  ASSERT_TRUE(session_);
  EXPECT_EQ(status().erased_entries, std::vector<std::string>{id});
}

TEST_F(ErasedEntriesTest, ReturnedEntriesAreWatchedAgain) {
  const std::string before = stage_.bytes(session_);
  const std::string id = append("mine");
  const std::string with = stage_.bytes(session_);
  rewrite(before);
  EXPECT_EQ(status().erased_entries.size(), 1U);
  rewrite(with);
  EXPECT_EQ(status().erased_entries.size(), 0U);
  EXPECT_EQ(status().erased_file, "");
  EXPECT_TRUE(fs::is_empty(state("erased")));
  rewrite(before);
  EXPECT_EQ(status().erased_entries, std::vector<std::string>{id});
}

TEST_F(ErasedEntriesTest, RemovingTheirFileEndsTheReport) {
  const std::string before = stage_.bytes(session_);
  append("mine");
  rewrite(before);
  EXPECT_TRUE(fs::remove(status().erased_file));
  rewrite(before + "\n");
  EXPECT_TRUE(status().erased_entries.empty());
}

TEST_F(ErasedEntriesTest, RewritesThatKeepAllEntriesEraseNothing) {
  append("mine");
  EXPECT_TRUE(stage_.writer().set_title(session_, "Another title"));
  EXPECT_TRUE(stage_.writer().rewrite(session_));
  EXPECT_TRUE(status().erased_entries.empty());
}

TEST_F(ErasedEntriesTest, EntriesNewerThanTheIndexAreNotErased) {
  const auto old = omp::reader().index(*log_from_bytes(stage_.bytes(session_)), {});
  ASSERT_TRUE(old);
  const std::string id = append("mine");
  const std::string file = session_->place().file;
  EXPECT_FALSE(stage_.catalog().state(0).erased.compare(file, **old, [] { return false; }));
  EXPECT_TRUE(stage_.catalog().state(0).erased.of(file).empty());
  EXPECT_TRUE(stage_.catalog().state(0).erased.compare(file, **old, [] { return true; }));
  EXPECT_EQ(stage_.catalog().state(0).erased.of(file).size(), 1U);
}

TEST_F(ErasedEntriesTest, LockedStateFolderDelaysNoAppend) {
  append("one");
  const auto folder = Dir::open_root(state("written").string());
  ASSERT_TRUE(folder && ::flock(folder->fd(), LOCK_EX) == 0);
  append("two");
  EXPECT_EQ(stage_.lines(session_).size(), 5U);
}

TEST_F(ErasedEntriesTest, OnlyTheNewestAreKept) {
  const std::string before = stage_.bytes(session_);
  const std::string words(400 << 10, 'x');
  std::vector<std::string> ids;
  for (int i = 0; i < 24; ++i) {
    ids.push_back(append(words));
  }
  rewrite(before);
  const auto erased = status().erased_entries;
  ASSERT_GE(erased.size(), 2U);
  EXPECT_LT(erased.size(), ids.size());
  EXPECT_EQ(erased, std::vector<std::string>(ids.end() - static_cast<std::ptrdiff_t>(erased.size()), ids.end()));
}

TEST_F(ErasedEntriesTest, StateFilesArePrivate) {
  append("mine");
  for (const auto& entry : fs::recursive_directory_iterator(stage_.temp().root() + "/state")) {
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none)
        << entry.path();
  }
}

TEST_F(ErasedEntriesTest, RemovedSessionsAreNotWatched) {
  append("mine");
  EXPECT_FALSE(fs::is_empty(state("written")));
  WriteSettings settings;
  settings.allow_delete = true;
  settings.trash = stage_.temp().root() + "/trash";
  EXPECT_TRUE(Writer(stage_.catalog(), settings).remove(session_));
  EXPECT_TRUE(fs::is_empty(state("written")));
}

TEST_F(ErasedEntriesTest, StateFolderFailureFailsNoAppend) {
  std::ofstream(stage_.temp().root() + "/state") << "in the way";
  append("mine");
  EXPECT_TRUE(status().erased_entries.empty());
}

}  // namespace
}  // namespace arborfs::omp
