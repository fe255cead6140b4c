// The databases of arborfs itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/sqlite/database.h"
#include "tests/support/temp_store.h"

namespace arborfs::sqlite {
namespace {

namespace fs = std::filesystem;

constexpr int kRows = 40;
constexpr std::size_t kRowBytes = 3000;

Result<void> fill(const std::string& path) {
  std::ofstream(path).close();
  ASSIGN_OR_RETURN(const auto connection, open_own_database(path));
  RETURN_IF_ERROR(connection.run("CREATE TABLE word(id INTEGER PRIMARY KEY, text)"));
  ASSIGN_OR_RETURN(auto row, connection.prepare("INSERT INTO word(text) VALUES(?1)"));
  for (int i = 0; i < kRows; ++i) {
    const std::string text(kRowBytes, 'x');
    row.bind(1, text);
    RETURN_IF_ERROR(row.step());
    row.reset();
  }
  return connection.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// How many rows are as they were written.
Result<int> good_rows(const std::string& path) {
  ASSIGN_OR_RETURN(const auto connection, open_own_database(path));
  ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT text FROM word"));
  for (int count = 0;;) {
    ASSIGN_OR_RETURN(const bool has_row, rows.step());
    if (!has_row) {
      return count;
    }
    count += rows.text(0) == std::string(kRowBytes, 'x') ? 1 : 0;
  }
}

TEST(OwnDatabase, GivesNothingButWhatWasWritten) {
  constexpr std::size_t kBlock = 4096;
  const arborfs::testing::TempStore tests;
  const std::string sound = tests.root() + "/sound.db";
  const std::string damaged = tests.root() + "/damaged.db";
  const auto filled = fill(sound);
  ASSERT_TRUE(filled) << filled.error().message;
  ASSERT_EQ(*good_rows(sound), kRows);
  for (std::size_t at = 0; at < fs::file_size(sound); at += kBlock) {
    fs::copy_file(sound, damaged, fs::copy_options::overwrite_existing);
    std::fstream(damaged, std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(at))
        << std::string(kBlock, '\0');
    const auto found = good_rows(damaged);
    EXPECT_TRUE(found ? *found == kRows : found.error().code == Errc::corrupt)
        << "without the block at " << at << ": " << (found ? std::to_string(*found) : found.error().message);
  }
}

}  // namespace
}  // namespace arborfs::sqlite
