// Databases as killed writers leave them: every one is read at once, and nothing is changed.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/sqlite/database.h"
#include "tests/support/database_owner.h"
#include "tests/support/sanitized.h"
#include "tests/support/sqlite_program.h"
#include "tests/support/temp_store.h"
#include "tests/support/unreadable.h"
#include "tests/support/variable.h"
#include "tests/support/wrapped_vfs.h"

namespace arborfs::sqlite {
namespace {

namespace fs = std::filesystem;
using arborfs::testing::kSanitizedShare;
using arborfs::testing::Owner;
using arborfs::testing::SqliteProgram;
using arborfs::testing::state_of;

constexpr std::size_t kWalHeader = 32;
constexpr std::size_t kFrame = 24 + 512;  // with the smallest pages

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

class KilledWriters : public ::testing::Test {
 protected:
  KilledWriters() { start_again(); }

  void start_again() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  /// A closed database with one word.
  void make(const std::string& journal_mode) const {
    SqliteProgram program(file());
    program.run("PRAGMA synchronous=OFF; PRAGMA page_size=512; PRAGMA journal_mode=" + journal_mode);
    program.run("CREATE TABLE word(text); INSERT INTO word VALUES('one')");
  }
  /// Adds two words, each with one page in the -wal, and leaves the files as the kernel has them at the end.
  void make_abandoned() {
    make("WAL");
    const fs::path away = fs::path(tests_.root()) / "away";
    fs::create_directories(away);
    fs::rename(file(), away / "a.db");
    Owner owner(away / "a.db");
    owner.run("INSERT INTO word VALUES('two')");
    owner.run("INSERT INTO word VALUES('three')");
    for (const char* ending : {"", "-wal", "-shm"}) {
      fs::copy_file(away / (std::string("a.db") + ending), file(ending));
    }
    ASSERT_EQ(fs::file_size(file("-wal")), kWalHeader + 2 * kFrame);
  }

  [[nodiscard]] std::string words() const {
    std::string found;
    const auto done = database_.read([&](const Connection& connection) -> Result<void> {
      ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT group_concat(text) FROM word"));
      RETURN_IF_ERROR(rows.step());
      found = rows.text(0);
      return {};
    });
    return done ? found : done.error().message;
  }
  /// The words; they are read within a second, and no file is changed, made or removed.
  [[nodiscard]] std::string words_only_looked_at() const {
    const auto before = state_of(folder_);
    const auto start = std::chrono::steady_clock::now();
    const std::string found = words();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    EXPECT_EQ(state_of(folder_), before);
    return found;
  }
  /// What SQLite finds when it may repair the files.
  [[nodiscard]] std::string words_after_repair() const {
    const fs::path copy = fs::path(tests_.root()) / "copy";
    fs::remove_all(copy);
    fs::copy(folder_, copy);
    std::string found = SqliteProgram(copy / "a.db").run("SELECT group_concat(text) FROM word");
    found.pop_back();  // the line feed
    return found;
  }
  [[nodiscard]] fs::path file(const std::string& ending = "") const { return folder_ / ("a.db" + ending); }

  arborfs::testing::TempStore tests_;
  const fs::path folder_ = fs::path(tests_.root()) / "store";
  arborfs::testing::Variable state_{"XDG_STATE_HOME", (fs::path(tests_.root()) / "state").string()};
  const Database database_{file().string(), {"word"}, Disk::real()};
};

/// 2,210 states.
TEST_F(KilledWriters, AWalOfEachLengthIsReadWithAndWithoutShm) {
  make_abandoned();
  const std::string wal = bytes_of(file("-wal"));
  const std::string shm = bytes_of(file("-shm"));
  for (std::size_t size = 0; size <= wal.size(); size += kSanitizedShare) {
    const char* wanted = size < kWalHeader + kFrame ? "one" : size < wal.size() ? "one,two" : "one,two,three";
    write_file(file("-wal"), std::string_view(wal).substr(0, size));
    write_file(file("-shm"), shm);
    ASSERT_EQ(words_only_looked_at(), wanted) << size << " bytes with -shm";
    fs::remove(file("-shm"));
    ASSERT_EQ(words_only_looked_at(), wanted) << size << " bytes without -shm";
  }
}

TEST_F(KilledWriters, TheContentOfAShmThatNobodyHasOpenDoesNotMatter) {
  make_abandoned();
  const std::string wal = bytes_of(file("-wal"));
  const std::string shm = bytes_of(file("-shm"));
  for (const std::string& left :
       {std::string(), std::string(shm.size(), '\0'), std::string(shm.size(), 'x'), shm.substr(0, 100), shm + "more"}) {
    write_file(file("-shm"), left);
    write_file(file("-wal"), std::string_view(wal).substr(0, kWalHeader));
    EXPECT_EQ(words_only_looked_at(), "one") << left.size();
    write_file(file("-wal"), wal);
    EXPECT_EQ(words_only_looked_at(), "one,two,three") << left.size();
  }
}

TEST_F(KilledWriters, AWalWithAHeaderThatSQLiteIgnoresHoldsNothing) {
  make_abandoned();
  std::string wal = bytes_of(file("-wal"));
  for (const std::size_t at : {0, 3, 9, 11, 30}) {  // the magic number, the page size, the checksum
    std::string bad = wal;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    write_file(file("-wal"), bad);
    EXPECT_EQ(words_only_looked_at(), words_after_repair()) << at;
    EXPECT_EQ(words(), "one") << at;
  }
}

TEST_F(KilledWriters, ADatabaseWhoseTablesAreOnlyInTheWalIsRead) {
  const fs::path away = fs::path(tests_.root()) / "away";
  fs::create_directories(away);
  Owner owner(away / "a.db");
  owner.run("CREATE TABLE word(text)");
  owner.run("INSERT INTO word VALUES('one')");
  for (const char* ending : {"", "-wal", "-shm"}) {
    fs::copy_file(away / (std::string("a.db") + ending), file(ending));
  }
  EXPECT_EQ(words_only_looked_at(), "one");
}

/// Ends the process before the call with this number.
class Killed final : public arborfs::testing::WrappedVfs {
 public:
  explicit Killed(int at) : left_(at) {}

 private:
  bool fails(const char* /*call*/) override {
    if (--left_ == 0) {
      ::_exit(1);
    }
    return false;
  }
  void ordered() override { fails("order"); }
  int left_;
};

/// Runs the statements in a process that is killed before its `at`-th call. False if it lived to the end.
bool is_killed(const fs::path& database, int at, const std::vector<std::string>& statements) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Killed killed(at);
    SqliteProgram program(database);
    for (const std::string& sql : statements) {
      program.run(sql);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status) == 1;
}

const std::set<std::string> kStates = {"one", "one,two", "one,two,three", "one,two,three,four"};
const std::vector<std::string> kChanges = {"PRAGMA cache_size=1", "INSERT INTO word VALUES('two')",
                                           "INSERT INTO word VALUES('three')",
                                           "BEGIN; CREATE TABLE more(text); INSERT INTO more VALUES(zeroblob(9000)); "
                                           "INSERT INTO word VALUES('four'); UPDATE more SET text = 'x'; COMMIT"};

TEST_F(KilledWriters, AreReadAsSQLiteRepairsThemInEachJournalMode) {
  int hot = 0;  // states with a change that has to be rolled back
  for (const std::string mode : {"WAL", "DELETE", "TRUNCATE", "PERSIST"}) {
    for (int at = 1;; at += kSanitizedShare) {
      start_again();
      make(mode);
      auto changes = kChanges;
      changes.insert(changes.begin(), "PRAGMA journal_mode=" + mode);
      if (!is_killed(file(), at, changes)) {
        EXPECT_GT(at, 50);
        break;
      }
      hot += bytes_of(file("-journal")).starts_with("\xD9\xD5\x05\xF9") ? 1 : 0;
      const std::string found = words_only_looked_at();
      ASSERT_TRUE(kStates.contains(found)) << found << " in mode " << mode << " at " << at;
      ASSERT_EQ(found, words_after_repair()) << mode << " at " << at;
    }
  }
  EXPECT_GT(hot, 50 / kSanitizedShare);
}

TEST_F(KilledWriters, AreReadWhileAnotherProgramHasTheDatabaseOpen) {
  for (int at = 1;; at += kSanitizedShare) {
    start_again();
    make("WAL");
    Owner idle(file());
    idle.run("SELECT count(*) FROM word");
    if (!is_killed(file(), at, kChanges)) {
      EXPECT_GT(at, 50);
      break;
    }
    const std::string found = words_only_looked_at();
    ASSERT_TRUE(kStates.contains(found)) << found << " at " << at;
    idle.run("INSERT INTO word VALUES('five')");
    const std::string then = words_only_looked_at();
    ASSERT_TRUE(then.ends_with(",five") && kStates.contains(then.substr(0, then.size() - 5))) << then << " at " << at;
  }
}

TEST_F(KilledWriters, AShmThatThisUserMayNotReadIsNotNeeded) {
  make_abandoned();
  fs::create_directories(fs::path(tests_.root()) / "state");
  const arborfs::testing::Unreadable shm(file("-shm"));
  EXPECT_EQ(words(), "one,two,three");
}

}  // namespace
}  // namespace arborfs::sqlite
