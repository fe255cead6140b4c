#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/sqlite/database.h"
#include "tests/support/database_owner.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::sqlite {
namespace {

namespace fs = std::filesystem;
using arborfs::testing::Owner;
using arborfs::testing::state_of;

class SqliteDatabase : public ::testing::Test {
 protected:
  SqliteDatabase() { fs::create_directories(folder_); }

  void make_closed() {
    Owner owner(folder_ / "a.db");
    owner.run("CREATE TABLE word(text); CREATE TABLE secret(token); INSERT INTO word VALUES('one')");
    owner.run("INSERT INTO secret VALUES('hidden')");
  }
  /// A database whose last row is only in the -wal. `endings` are those of the files that are left.
  void make_abandoned(const std::vector<std::string>& endings) {
    make_closed();
    const fs::path away = fs::path(tests_.root()) / "away";
    fs::create_directories(away);
    fs::rename(folder_ / "a.db", away / "a.db");
    Owner owner(away / "a.db");
    owner.run("INSERT INTO word VALUES('two')");
    for (const std::string& ending : endings) {
      fs::copy_file(away / ("a.db" + ending), folder_ / ("a.db" + ending));
    }
  }

  Result<std::string> words() { return read("SELECT group_concat(text) FROM word"); }
  Result<std::string> read(const char* sql) {
    std::string found;
    const auto done = database_.read([&](const Connection& connection) -> Result<void> {
      ASSIGN_OR_RETURN(auto rows, connection.prepare(sql));
      RETURN_IF_ERROR(rows.step());
      found = rows.text(0);
      return {};
    });
    return done ? Result<std::string>(found) : Result<std::string>(done.error());
  }
  void expect_only_looked_at(const std::string& wanted) {
    const auto before = state_of(folder_);
    const auto found = words();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, wanted);
    EXPECT_EQ(state_of(folder_), before);
  }
  [[nodiscard]] Errc error_of(const char* sql = "SELECT text FROM word") {
    const auto found = read(sql);
    EXPECT_FALSE(found);
    return found ? Errc::io : found.error().code;
  }

  arborfs::testing::TempStore tests_;
  const fs::path folder_ = fs::path(tests_.root()) / "store";
  arborfs::testing::Variable state_{"XDG_STATE_HOME", (fs::path(tests_.root()) / "state").string()};
  Database database_{(folder_ / "a.db").string(), {"word"}, Disk::real()};
};

TEST_F(SqliteDatabase, LookingAtAClosedDatabaseMakesNoFile) {
  make_closed();
  expect_only_looked_at("one");
}

TEST_F(SqliteDatabase, LookingBesideItsProgramChangesNothing) {
  make_closed();
  Owner owner(folder_ / "a.db");
  owner.run("INSERT INTO word VALUES('two')");
  expect_only_looked_at("one,two");
  owner.run("INSERT INTO word VALUES('three')");
  expect_only_looked_at("one,two,three");
}

TEST_F(SqliteDatabase, LookingAfterACrashChangesNothing) {
  make_abandoned({"", "-wal", "-shm"});
  expect_only_looked_at("one,two");
}

TEST_F(SqliteDatabase, WalWithoutShmIsReadFromACopyThatLeavesNoFile) {
  make_abandoned({"", "-wal"});
  expect_only_looked_at("one,two");
  EXPECT_TRUE(fs::is_empty(fs::path(tests_.root()) / "state/arborfs/databases"));
  Owner(folder_ / "a.db").run("INSERT INTO word VALUES('three')");
  expect_only_looked_at("one,two,three");
}

TEST_F(SqliteDatabase, EmptyWalIsNoReasonForACopy) {
  make_closed();
  std::ofstream(folder_ / "a.db-wal").close();
  expect_only_looked_at("one");
  EXPECT_FALSE(fs::exists(fs::path(tests_.root()) / "state"));
}

TEST_F(SqliteDatabase, ReaderKeepsNoWriterWaiting) {
  make_closed();
  Owner owner(folder_ / "a.db");
  owner.run("INSERT INTO word VALUES('two')");
  const auto done = database_.read([&](const Connection& connection) -> Result<void> {
    ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT text FROM word"));
    RETURN_IF_ERROR(rows.step());
    const auto start = std::chrono::steady_clock::now();
    owner.run("INSERT INTO word VALUES('three')");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
    return {};
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(*words(), "one,two,three");
}

/// The lock that a program holds while it closes the database as the last one.
class ClosingLock {
 public:
  explicit ClosingLock(const fs::path& database) : fd_(::open(database.c_str(), O_RDWR | O_CLOEXEC)) { set(F_WRLCK); }
  ~ClosingLock() { ::close(fd_); }
  ClosingLock(const ClosingLock&) = delete;
  ClosingLock& operator=(const ClosingLock&) = delete;
  void end() const { set(F_UNLCK); }

 private:
  void set(short type) const {
    struct flock lock {};
    lock.l_type = type;
    lock.l_start = 0x40000002;  // the bytes that each reader locks
    lock.l_len = 510;
    EXPECT_EQ(::fcntl(fd_, F_OFD_SETLK, &lock), 0);
  }
  int fd_;
};

TEST_F(SqliteDatabase, ReaderNoticesSoonThatALockHasEnded) {
  constexpr auto kHeld = std::chrono::milliseconds(135);  // SQLite's own intervals are 50 ms by then
  make_abandoned({"", "-wal", "-shm"});
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 3; ++i) {  // a busy machine may delay some
    const ClosingLock lock(folder_ / "a.db");
    std::chrono::steady_clock::time_point ended;
    std::thread holder([&] {
      std::this_thread::sleep_for(kHeld);
      ended = std::chrono::steady_clock::now();
      lock.end();
    });
    const auto found = words();
    const auto read = std::chrono::steady_clock::now();
    holder.join();
    EXPECT_EQ(found ? *found : found.error().message, "one,two");
    EXPECT_GE(read, ended);
    shortest = std::min(shortest, read - ended);
  }
  EXPECT_LT(shortest, std::chrono::milliseconds(20));
}

TEST_F(SqliteDatabase, OneReadSeesOneState) {
  make_closed();
  Owner owner(folder_ / "a.db");
  owner.run("INSERT INTO word VALUES('two')");
  const auto done = database_.read([&](const Connection& connection) -> Result<void> {
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT count(*) FROM word"));
      RETURN_IF_ERROR(rows.step());
      EXPECT_EQ(rows.integer(0), 2);
      owner.run("INSERT INTO word VALUES('more')");
    }
    return {};
  });
  EXPECT_TRUE(done);
}

TEST_F(SqliteDatabase, ReadingBeginsAnewIfAProgramOpensTheDatabase) {
  make_closed();
  std::unique_ptr<Owner> owner;
  int calls = 0;
  const auto done = database_.read([&](const Connection& connection) -> Result<void> {
    ++calls;
    if (!owner) {
      owner = std::make_unique<Owner>(folder_ / "a.db");
      owner->run("INSERT INTO word VALUES('two')");
    }
    ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT count(*) FROM word"));
    RETURN_IF_ERROR(rows.step());
    EXPECT_EQ(rows.integer(0), calls);
    return {};
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(calls, 2);
}

TEST_F(SqliteDatabase, IsReadWhileProgramsOpenAndCloseItForEachChange) {
  make_closed();
  std::int64_t found = 0;
  int calls = 0;
  const auto done = database_.read([&](const Connection& connection) -> Result<void> {
    ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT count(*) FROM word"));
    RETURN_IF_ERROR(rows.step());
    found = rows.integer(0);
    ++calls;
    Owner(folder_ / "a.db").run("INSERT INTO word VALUES('more')");
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(found, calls);
  EXPECT_EQ(*read("SELECT count(*) FROM word"), std::to_string(1 + calls));
}

TEST_F(SqliteDatabase, ALinkedDatabaseHasItsFilesBesideItsEnd) {
  make_closed();
  const fs::path elsewhere = fs::path(tests_.root()) / "elsewhere";
  fs::create_directories(elsewhere);
  fs::rename(folder_ / "a.db", elsewhere / "real.db");
  fs::create_symlink("../elsewhere/real.db", folder_ / "a.db");
  expect_only_looked_at("one");
  const auto closed = database_.state();
  Owner owner(elsewhere / "real.db");
  owner.run("INSERT INTO word VALUES('two')");
  expect_only_looked_at("one,two");
  const auto written = database_.state();
  ASSERT_TRUE(closed && written);
  EXPECT_FALSE(*closed == *written);
  fs::copy(elsewhere, fs::path(tests_.root()) / "copied");  // with a -shm and a -wal
  fs::remove(fs::path(tests_.root()) / "copied/real.db-shm");
  fs::remove(folder_ / "a.db");
  fs::create_symlink("../copied/real.db", folder_ / "a.db");
  expect_only_looked_at("one,two");
}

TEST_F(SqliteDatabase, OtherTablesAreNeverRead) {
  make_closed();
  EXPECT_EQ(error_of("SELECT token FROM secret"), Errc::unsupported);
  EXPECT_EQ(error_of("SELECT text FROM word UNION SELECT token FROM secret"), Errc::unsupported);
  EXPECT_EQ(error_of("INSERT INTO word VALUES('x')"), Errc::unsupported);
  EXPECT_EQ(error_of("ATTACH '/dev/null' AS other"), Errc::unsupported);
}

TEST_F(SqliteDatabase, StateChangesWithEveryWrite) {
  make_closed();
  const auto closed = database_.state();
  Owner owner(folder_ / "a.db");
  owner.run("INSERT INTO word VALUES('two')");
  const auto written = database_.state();
  ASSERT_TRUE(closed && written);
  EXPECT_FALSE(*closed == *written);
  EXPECT_EQ(*written, *database_.state());
}

TEST_F(SqliteDatabase, BadFilesAreErrors) {
  EXPECT_EQ(error_of(), Errc::not_found);
  std::ofstream(folder_ / "a.db") << std::string(8192, 'x');
  EXPECT_EQ(error_of(), Errc::corrupt);
  fs::remove(folder_ / "a.db");
  make_closed();
  fs::resize_file(folder_ / "a.db", 5000);
  EXPECT_EQ(error_of(), Errc::corrupt);
  fs::remove(folder_ / "a.db");
  ASSERT_EQ(::mkfifo((folder_ / "a.db").c_str(), 0600), 0);
  EXPECT_EQ(error_of(), Errc::corrupt);
}

TEST_F(SqliteDatabase, ColumnsAreListed) {
  make_closed();
  const auto done = database_.read([&](const Connection& connection) -> Result<void> {
    ASSIGN_OR_RETURN(const auto word, connection.columns_of("word"));
    EXPECT_EQ(word, (std::set<std::string>{"text"}));
    ASSIGN_OR_RETURN(const auto none, connection.columns_of("none"));
    EXPECT_TRUE(none.empty());
    return {};
  });
  EXPECT_TRUE(done);
}

TEST_F(SqliteDatabase, ValuesThatAreTooLongAreNotLeftOut) {
  make_closed();
  const auto writer =
      Connection::open("file:" + (folder_ / "a.db").string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, nullptr);
  ASSERT_TRUE(writer);
  auto row = writer->prepare("INSERT INTO word VALUES(?1)");
  ASSERT_TRUE(row);
  const std::string text(std::size_t{Connection::kLongestValue} + 1, 'x');
  row->bind(1, text);
  const auto done = row->step();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::too_large);
  row->reset();
  row->bind(1, "two");
  ASSERT_TRUE(row->step());
  EXPECT_EQ(*words(), "one,two");
}

/// Only the last change may be lost in a power cut, never the database.
TEST_F(SqliteDatabase, AWriterThatDoesNotSyncItsChangesSyncsCheckpoints) {
  make_closed();
  const auto connection = Transaction::connect(folder_ / "a.db", Transaction::Sync::left_to_kernel);
  ASSERT_TRUE(connection);
  auto row = connection->prepare("PRAGMA synchronous");
  ASSERT_TRUE(row && row->step());
  EXPECT_EQ(row->integer(0), 1) << "NORMAL";
}

}  // namespace
}  // namespace arborfs::sqlite
