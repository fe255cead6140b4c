// The -shm of another program's database, which SQLite maps and writes (core/sqlite/connection.cc).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "core/base/unique_fd.h"
#include "core/sqlite/database.h"
#include "tests/support/database_owner.h"
#include "tests/support/temp_store.h"

namespace arborfs::sqlite {
namespace {

namespace fs = std::filesystem;
using arborfs::testing::Owner;

class SharedMemory : public ::testing::Test {
 protected:
  [[nodiscard]] std::string database() const { return tests_.root() + "/a.db"; }
  [[nodiscard]] std::string shm() const { return database() + "-shm"; }

 private:
  arborfs::testing::TempStore tests_;
};

/// A write to a hole needs a block: on a full disk it would end the process (SIGBUS).
TEST_F(SharedMemory, OfAnotherProgramHasNoHolesWhenItIsWritten) {
  constexpr off_t kSize = 32 << 10;
  constexpr off_t kUnused = 4 << 10;  // the page numbers of the frames from about 1,000 on
  Owner owner(database());
  owner.run("CREATE TABLE word(text); INSERT INTO word VALUES('one')");
  const UniqueFd file(::open(shm().c_str(), O_RDWR | O_CLOEXEC));
  struct stat before {};
  ASSERT_EQ(::fstat(file.get(), &before), 0);
  ASSERT_EQ(before.st_size, kSize);
  if (::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kUnused, 2 * kUnused) != 0) {
    GTEST_SKIP() << "files here cannot have holes";
  }
  ASSERT_EQ(::fstat(file.get(), &before), 0);
  ASSERT_LT(before.st_blocks * 512, kSize);
  const auto change = Transaction::begin(database(), Transaction::Sync::left_to_kernel);
  ASSERT_TRUE(change) << change.error().message;
  struct stat after {};
  ASSERT_EQ(::fstat(file.get(), &after), 0);
  EXPECT_EQ(after.st_size, kSize);
  EXPECT_GE(after.st_blocks * 512, kSize);
  EXPECT_TRUE(change->connection().run("INSERT INTO word VALUES('two')"));
  EXPECT_TRUE(change->commit());
}

}  // namespace
}  // namespace arborfs::sqlite
