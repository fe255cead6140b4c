// Adding prompts to omp's history: by the rules of each version, beside other programs, and when something fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/formats/omp/store/history.h"
#include "tests/support/crash_vfs.h"
#include "tests/support/database_owner.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/omp_history.h"
#include "tests/support/temp_store.h"

namespace arborfs::omp {
namespace {

using ::testing::HasSubstr;
using testing::SqliteProgram;

class OmpHistoryWrites : public ::testing::Test {
 protected:
  Result<void> add(const std::string& text, const std::string& cwd = "", const std::string& session = "",
                   Disk& disk = Disk::real()) const {
    auto done = add_to_history(path, {0, text, cwd, session}, {}, disk);
    return done ? Result<void>() : Result<void>(done.error());
  }
  void expect_added(const std::string& text) const {
    const auto done = add(text, "/work/a", "s1");
    EXPECT_TRUE(done) << done.error().message;
  }
  /// Without the files that a failed change left, which SQLite would apply to another database of this name.
  void clear() const {
    for (const char* ending : {"", "-journal", "-wal", "-shm"}) {
      std::filesystem::remove(path + ending);
    }
  }
  void make(const std::string& tables) const {
    clear();
    SqliteProgram(path).run(tables);
  }
  std::string ask(const std::string& sql) const { return SqliteProgram(path).run(sql); }
  /// The index agrees with the table.
  void expect_sound() const {
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok\n");
    EXPECT_EQ(ask("INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)"), "");
  }

  const testing::TempStore temp;
  const std::string path = temp.root() + "/history.db";
};

TEST_F(OmpHistoryWrites, TheTextIsThatOfOmp) {
  EXPECT_EQ(stored_prompt("  a \t\r\n  b\r\rc\xC2\xA0\n\n "), "a\n  b\n\nc");
  EXPECT_EQ(stored_prompt("\r\n \n"), "");
  EXPECT_EQ(stored_prompt("x"), "x");
}

TEST_F(OmpHistoryWrites, APromptThatIsTypedAgainChangesItsRow) {
  for (const auto& [tables, columns, wanted] :
       {std::tuple(testing::kHistory18, "id, prompt, cwd, session_id", "1|one|/work/a|s1\n2|two|/work/a|s1\n"),
        std::tuple(testing::kHistory183, "id, prompt, cwd, session_id, use_count",
                   "1|one|/work/a|s1|2\n2|two|/work/a|s1|1\n")}) {
    make(tables);
    ask("INSERT INTO history(prompt, created_at, cwd) VALUES('one', 5, '/before')");
    expect_added("two");
    expect_added("one ");
    EXPECT_EQ(ask("SELECT " + std::string(columns) + " FROM history ORDER BY id"), wanted);
    EXPECT_EQ(ask("SELECT count(*) FROM history WHERE created_at > 5"), "2\n");
    EXPECT_EQ(ask("SELECT rowid FROM history_fts WHERE history_fts MATCH 'two'"), "2\n");
    expect_sound();
  }
}

TEST_F(OmpHistoryWrites, The13thVersionLeavesOutOnlyARepetition) {
  make(testing::kHistory13);
  for (const char* text : {"one", "one", "two \nlines", "one"}) {
    expect_added(text);
  }
  EXPECT_EQ(ask("SELECT prompt, cwd FROM history ORDER BY id"), "one|/work/a\ntwo \nlines|/work/a\none|/work/a\n");
  expect_sound();
}

TEST_F(OmpHistoryWrites, AMissingHistoryIsMadeForItsOwnerOnly) {
  expect_added("one");
  expect_added("one");
  EXPECT_EQ(ask("SELECT prompt, use_count FROM history"), "one|2\n");
  EXPECT_EQ(ask("PRAGMA user_version"), "1\n");
  EXPECT_EQ(ask("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'history_fts_%' "
                "ORDER BY name"),
            "history\nhistory_ai\nhistory_fts\nidx_history_created_at\n");
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0600U);
  expect_sound();
}

TEST_F(OmpHistoryWrites, TheJournalModeStays) {
  make(testing::kHistory183);
  expect_added("one");
  EXPECT_EQ(ask("PRAGMA journal_mode"), "delete\n");
  ask("PRAGMA journal_mode=WAL");
  expect_added("two");
  EXPECT_EQ(ask("PRAGMA journal_mode"), "wal\n");
}

TEST_F(OmpHistoryWrites, NoPromptIsLostBesideOmp) {
  make("PRAGMA journal_mode=WAL;" + testing::kHistory183);
  constexpr int kEach = 40;
  {
    testing::Owner omp(path);
    omp.run("PRAGMA busy_timeout=5000");
    std::vector<std::thread> threads;
    for (const char* who : {"a", "b"}) {
      threads.emplace_back([this, who] {
        for (int i = 0; i < kEach; ++i) {
          expect_added(who + std::to_string(i));
        }
      });
    }
    for (int i = 0; i < kEach; ++i) {
      omp.run("INSERT INTO history(prompt, created_at) VALUES('omp " + std::to_string(i) + "', unixepoch())");
    }
    for (auto& thread : threads) {
      thread.join();
    }
  }
  EXPECT_EQ(ask("SELECT count(*) FROM history"), std::to_string(3 * kEach) + "\n");
  expect_sound();
}

TEST_F(OmpHistoryWrites, TwoThatMakeTheHistoryBothAdd) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] { expect_added("one " + std::to_string(i)); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(ask("SELECT count(*) FROM history"), "4\n");
  expect_sound();
}

TEST_F(OmpHistoryWrites, UnknownVersionsAreNotWritten) {
  make(testing::kHistory183 + "PRAGMA user_version = 2;");
  const auto done = add("one");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::unsupported);
  EXPECT_THAT(done.error().message, HasSubstr("this version of arborfs"));
  EXPECT_EQ(ask("SELECT count(*) FROM history"), "0\n");
  EXPECT_EQ(add("\xFF").error().code, Errc::not_utf8);
  EXPECT_EQ(add(" \n").error().code, Errc::invalid_argument);
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(4096, 'x');
  EXPECT_EQ(add("one").error().code, Errc::corrupt);
  std::filesystem::remove_all(temp.root());
  EXPECT_EQ(add("one").error().code, Errc::not_found);
}

TEST_F(OmpHistoryWrites, AFailingDiskAddsNothingOrAllOfAPrompt) {
  for (const char* tables : {"", "existing"}) {
    unsigned at = 1;
    for (bool met = true; met && at < 500; ++at) {
      SCOPED_TRACE("call " + std::to_string(at));
      clear();
      if (*tables != '\0') {
        make(testing::kHistory183);
      }
      Result<void> done;
      {
        testing::FailingVfs vfs;
        vfs.arm(at, testing::FailingVfs::kForGood);
        done = add("one");
        met = !vfs.met().empty();
      }
      EXPECT_EQ(done.has_value(), !met);
      const bool has_table = ask("SELECT count(*) FROM sqlite_master WHERE name = 'history'") == "1\n";
      const auto rows = has_table ? ask("SELECT prompt FROM history") : "";
      EXPECT_TRUE(rows.empty() || rows == "one\n") << rows;
      EXPECT_TRUE(met || rows == "one\n");
    }
    EXPECT_GT(at, 5U);
    EXPECT_LT(at, 500U);
  }
  testing::FaultyDisk disk;
  clear();
  disk.arm(testing::Fault::no_space, 1, testing::FaultyDisk::kForGood);
  EXPECT_EQ(add("one", "", "", disk).error().code, Errc::no_space);
  disk.disarm();
  EXPECT_TRUE(add("one", "", "", disk));
}

/// A history, with a journal of this kind, that is there before the power fails; without one, none is there.
class CutsPowerInHistory : public OmpHistoryWrites, public ::testing::WithParamInterface<const char*> {
 protected:
  /// False if the prompt was added before the power failed.
  bool cut(unsigned behind) {
    testing::CrashDisk disk;
    testing::CrashVfs vfs(disk);
    clear();
    if (*GetParam() != '\0') {
      make("PRAGMA journal_mode=" + std::string(GetParam()) + ";" + testing::kHistory183);
      expect_added("before");
    }
    disk.begin(temp.root(), behind);
    const auto done = add("one", "", "", disk);
    const bool is_cut = disk.is_off();
    EXPECT_TRUE(done || is_cut) << done.error().message;
    const auto images =
        disk.images({testing::Bytes::kept, testing::Bytes::dropped, testing::Bytes::torn, testing::Bytes::nuls});
    disk.end();
    SCOPED_TRACE("power off behind operation " + std::to_string(behind) + " (" + disk.last() + ")");
    for (const testing::Image& image : images) {
      testing::lay_out(image, temp.root());
      expect_whole(done.has_value());
    }
    return is_cut;
  }

 private:
  void expect_whole(bool is_added) const {
    expect_added("next");
    const std::string before = *GetParam() != '\0' ? "before\n" : "";
    const auto rows = ask("SELECT prompt FROM history ORDER BY id");
    EXPECT_TRUE(rows == before + "one\nnext\n" || (!is_added && rows == before + "next\n")) << rows;
    expect_sound();
  }
};

INSTANTIATE_TEST_SUITE_P(Journals, CutsPowerInHistory, ::testing::Values("", "wal", "delete"));

TEST_P(CutsPowerInHistory, APromptThatWasAddedIsThereAndTheHistoryIsSound) {
  unsigned behind = 0;
  while (behind < 500 && !HasFailure() && cut(behind)) {
    ++behind;
  }
  EXPECT_GT(behind, 3U) << "SQLite does not call what fails";
  EXPECT_LT(behind, 500U);
}

}  // namespace
}  // namespace arborfs::omp
