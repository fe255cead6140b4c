// The prompt history of omp: what is read in each state of its database, and that reading changes nothing.
#include "core/formats/omp/store/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "core/formats/omp/store/store.h"
#include "core/session/liveness.h"
#include "tests/support/database_owner.h"
#include "tests/support/omp_history.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::omp {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Owner;
using testing::SqliteProgram;

constexpr const char* kTwo =
    "INSERT INTO history(prompt, created_at, cwd) VALUES('older', 100, '/work/a'), ('newer', 200, NULL)";

class OmpHistory : public ::testing::Test {
 protected:
  OmpHistory() { fs::create_directories(folder); }

  void make(const std::string& tables, const std::string& rows = kTwo) const {
    SqliteProgram program(path);
    program.run("PRAGMA journal_mode=WAL");
    program.run(tables);
    program.run(rows);
  }
  /// The last prompt is only in the -wal. `endings` are those of the files that are left.
  void make_abandoned(const std::vector<std::string>& endings) const {
    make(testing::kHistory183);
    const fs::path away = fs::path(scratch.root()) / "away";
    fs::create_directories(away);
    fs::rename(path, away / "history.db");
    Owner owner(away / "history.db");
    owner.run("INSERT INTO history(prompt, created_at) VALUES('last', 300)");
    for (const std::string& ending : endings) {
      fs::copy_file(away / ("history.db" + ending), path + ending);
    }
  }

  [[nodiscard]] Result<std::vector<std::string>> read(PromptHistory::Span span = {}) const {
    std::vector<std::string> found;
    const auto done = history->read(span, {[&] { found.clear(); },
                                           [&](const Prompt& prompt) {
                                             found.push_back(prompt.text + "|" + std::to_string(prompt.time_s) + "|" +
                                                             prompt.cwd + "|" + prompt.session);
                                             return true;
                                           }});
    return done ? Result<std::vector<std::string>>(found) : Result<std::vector<std::string>>(done.error());
  }
  void expect_only_looked_at(const std::vector<std::string>& wanted) const {
    const auto before = testing::state_of(folder);
    const auto found = read();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, wanted);
    EXPECT_TRUE(history->state());
    EXPECT_EQ(testing::state_of(folder), before);
  }
  void expect_error(Errc code, const std::string& words) const {
    const auto found = read();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, code) << found.error().message;
    EXPECT_THAT(found.error().message, HasSubstr(words));
    EXPECT_THAT(found.error().message, HasSubstr(path));
  }

  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  const fs::path folder = fs::path(scratch.root()) / "agent";
  const std::string path = (folder / "history.db").string();
  const std::unique_ptr<PromptHistory> history = make_history((folder / "sessions").string(), Disk::real());
};

TEST_F(OmpHistory, ClosedDatabasesOfAllVersionsAreRead) {
  for (const auto& tables : {testing::kHistory13, testing::kHistory18, testing::kHistory183}) {
    fs::remove(path);
    make(tables);
    expect_only_looked_at({"newer|200||", "older|100|/work/a|"});
  }
}

TEST_F(OmpHistory, OthersStatesOfTheDatabaseAreReadToo) {
  const std::vector<std::string> all{"last|300||", "newer|200||", "older|100|/work/a|"};
  make_abandoned({"", "-wal", "-shm"});
  expect_only_looked_at(all);
  fs::remove_all(folder);
  fs::create_directories(folder);
  make_abandoned({"", "-wal"});
  expect_only_looked_at(all);
}

TEST_F(OmpHistory, APromptIsSeenWhileItsProgramRuns) {
  make(testing::kHistory183);
  Owner owner(path);
  owner.run("INSERT INTO history(prompt, created_at, session_id) VALUES('last', 300, 's1')");
  expect_only_looked_at({"last|300||s1", "newer|200||", "older|100|/work/a|"});
  const auto before = history->state();
  owner.run("UPDATE history SET created_at = 400 WHERE prompt = 'older'");
  EXPECT_NE(*history->state(), *before);
  expect_only_looked_at({"older|400|/work/a|", "last|300||s1", "newer|200||"});
}

TEST_F(OmpHistory, PromptsOfOneSecondAreNewestFirstAndASpanSelectsThem) {
  make(testing::kHistory18,
       "INSERT INTO history(prompt, created_at) VALUES('a', 100), ('b', 100), ('c', 99), ('d', 101)");
  EXPECT_THAT(*read(), ElementsAre("d|101||", "b|100||", "a|100||", "c|99||"));
  EXPECT_THAT(*read({100, 100}), ElementsAre("b|100||", "a|100||"));
}

/// The locks of this process on a file.
int own_locks(const std::string& path) {
  struct stat st {};
  EXPECT_EQ(::stat(path.c_str(), &st), 0);
  const std::string inode = ":" + std::to_string(st.st_ino) + " ";
  const std::string process = " " + std::to_string(::getpid()) + " ";
  int count = 0;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    count += line.find(inode) != std::string::npos && line.find(process) != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST_F(OmpHistory, ALookForAgentsDropsNoLockOfAReader) {
  make(testing::kHistory183);
  Owner owner(path);
  owner.run("INSERT INTO history(prompt, created_at) VALUES('last', 300)");
  const auto store = open_store(folder.string());
  std::pair<int, int> locks;
  EXPECT_TRUE(history->read({}, {[] {},
                                 [&](const Prompt& /*prompt*/) {
                                   locks.first = own_locks(path);
                                   EXPECT_TRUE(AgentLook::now(*store));
                                   locks.second = own_locks(path);
                                   return false;
                                 }}));
  EXPECT_GT(locks.first, 0);
  EXPECT_EQ(locks.second, locks.first);
}

TEST_F(OmpHistory, ADatabaseWithoutTheTableHasNoPrompts) {
  make("CREATE TABLE session_titles(session_id TEXT PRIMARY KEY, title TEXT)", "SELECT 1");
  EXPECT_THAT(*read(), IsEmpty());
}

TEST_F(OmpHistory, WhatCannotBeReadIsAnErrorThatNamesTheFile) {
  expect_error(Errc::not_found, "prompt history");
  std::ofstream(path) << std::string(4096, 'x');
  expect_error(Errc::corrupt, "damaged");
  fs::remove(path);
  make("CREATE TABLE history(id INTEGER PRIMARY KEY, words TEXT)", "SELECT 1");
  expect_error(Errc::unsupported, "its tables are not those that this version of arborfs knows");
  fs::remove(path);
  make("CREATE TABLE prompts(id INTEGER PRIMARY KEY, prompt TEXT)", "SELECT 1");
  expect_error(Errc::unsupported, "its tables are not those");
}

TEST_F(OmpHistory, ALockedDatabaseIsBusy) {
  {
    SqliteProgram program(path);
    program.run(testing::kHistory13);
  }
  Owner owner(path);
  owner.run("PRAGMA journal_mode=DELETE");
  owner.run("PRAGMA locking_mode=EXCLUSIVE");
  owner.run("BEGIN EXCLUSIVE");
  owner.run("PRAGMA cache_size=1");  // so that the change does not stay in memory
  owner.run("INSERT INTO history(prompt, created_at) VALUES(hex(randomblob(200000)), 300)");
  expect_error(Errc::busy, "its program holds it locked");
}

}  // namespace
}  // namespace arborfs::omp
