// Errors of SQLite in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/sqlite/database.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/sqlite_program.h"
#include "tests/support/temp_store.h"

namespace arborfs::sqlite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SqliteError, AFailureThatSaysLittleNamesTheCodeAndTheStatement) {
  const arborfs::testing::TempStore tests;
  const std::string path = tests.root() + "/a.db";
  arborfs::testing::SqliteProgram(path).run("CREATE TABLE word(text PRIMARY KEY); INSERT INTO word VALUES('one')");
  arborfs::testing::FailingVfs vfs;
  const auto change = Transaction::begin(path, Transaction::Sync::full);
  ASSERT_TRUE(change) << change.error().message;
  auto row = change->connection().prepare("INSERT INTO word VALUES(?1)");
  ASSERT_TRUE(row);
  row->bind(1, "one");
  const auto twice = row->step();
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Errc::io);
  EXPECT_THAT(twice.error().message, AllOf(HasSubstr("constraint failed (SQLite error 1555"),  // CONSTRAINT_PRIMARYKEY
                                           HasSubstr("in: INSERT INTO word VALUES(?1)"), Not(HasSubstr("one"))));
  row->reset();
  row->bind(1, "two");
  ASSERT_TRUE(row->step());
  row->reset();
  vfs.arm(1, arborfs::testing::FailingVfs::kForGood);
  const auto committed = change->commit();
  vfs.disarm();
  ASSERT_FALSE(committed);
  EXPECT_THAT(committed.error().message,
              AllOf(HasSubstr("(SQLite error 3850"), HasSubstr("in: COMMIT")));  // IOERR_LOCK
}

}  // namespace
}  // namespace arborfs::sqlite
