// Locks of a database's -shm that SQLite gives up because other programs were quicker.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "core/sqlite/database.h"
#include "tests/support/database_owner.h"
#include "tests/support/temp_store.h"
#include "tests/support/wrapped_vfs.h"

namespace arborfs::sqlite {
namespace {

using arborfs::testing::Owner;

class LockOfSharedMemory : public ::testing::Test {
 protected:
  [[nodiscard]] std::string database() const { return tests_.root() + "/a.db"; }

 private:
  arborfs::testing::TempStore tests_;
};

/// SQLite gives up a lock of the shared memory, without asking the busy handler, while others open and close it.
class Overtaken final : public arborfs::testing::WrappedVfs {
 public:
  explicit Overtaken(int times) : left_(times) {}

 private:
  bool fails(const char* call) override { return call == std::string("lock shared memory") && left_-- > 0; }
  [[nodiscard]] int failed_shared_lock() const override { return SQLITE_PROTOCOL; }
  int left_;
};

TEST_F(LockOfSharedMemory, IsAskedForAgainWhenOthersWereQuicker) {
  Owner owner(database());
  owner.run("CREATE TABLE word(text)");
  const Overtaken overtaken(2);
  const auto change = Transaction::begin(database(), Transaction::Sync::left_to_kernel);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_TRUE(change->connection().run("INSERT INTO word VALUES('one')"));
  EXPECT_TRUE(change->commit());
}

TEST_F(LockOfSharedMemory, IsReportedAsBusyIfOthersAreAlwaysQuicker) {
  Owner owner(database());
  owner.run("CREATE TABLE word(text)");
  const Overtaken overtaken(1000);
  const auto change = Transaction::begin(database(), Transaction::Sync::left_to_kernel);
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().code, Errc::busy);
}

}  // namespace
}  // namespace arborfs::sqlite
