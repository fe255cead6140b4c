// A short log that looks written but has the same bytes: open files of it stay valid (CONTRACT.md 2.5).
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "core/session/session.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

class TouchedSessionTest : public ::testing::Test {
 protected:
  TouchedSessionTest() : catalog(omp::open_store(temp.root()), "/home/dev") {
    temp.write(kFolder, kName, TempStore::two_entries());
    catalog.rescan();
    session = catalog.view()->by_id.front().second;
    EXPECT_TRUE(session->refresh(Depth::details));
  }
  void look_written(std::chrono::seconds later) const {
    const auto log = temp.log(kFolder, kName);
    std::filesystem::last_write_time(log, std::filesystem::last_write_time(log) + later);
  }

  TempStore temp;
  Catalog catalog;
  SessionPtr session;
};

TEST_F(TouchedSessionTest, SameBytesKeepTheGeneration) {
  const auto before = session->raw();
  for (int i = 1; i <= 3; ++i) {
    look_written(std::chrono::seconds(i));
    ASSERT_TRUE(session->refresh(Depth::details));
    const auto after = session->raw();
    EXPECT_EQ(after->bytes, before->bytes);
    EXPECT_EQ(after->entries, before->entries);
    EXPECT_NE(after->epoch, before->epoch) << "its time is seen";
  }
}

TEST_F(TouchedSessionTest, OtherBytesOfTheSameSizeAreANewGeneration) {
  const auto before = session->raw();
  std::string bytes = TempStore::two_entries();
  bytes[bytes.rfind("two")] = 'T';
  std::fstream(temp.log(kFolder, kName), std::ios::in | std::ios::out) << bytes;
  look_written(std::chrono::seconds(1));
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_NE(session->raw()->bytes, before->bytes);
  EXPECT_NE(session->raw()->entries, before->entries);
}

}  // namespace
}  // namespace arborfs
