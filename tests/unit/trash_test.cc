// The trash when the disk fails.

#include "core/manager/trash.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/store/session_store.h"
#include "tests/unit/command_write_support.h"

namespace arborfs {
namespace {

using ::arborfs::testing::bytes_of;
using ::arborfs::testing::TempStore;

constexpr char kFolder[] = "-src-kite";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

/// Moves, but cannot sync a folder.
class UnsyncedDisk : public Disk {
 public:
  Result<void> sync_folder(const Dir& /*folder*/) override { return {Errc::io, "sync folder to disk: broken"}; }
};

TEST(Trash, ALogThatCannotBeTakenSafelyIsNotLost) {
  const TempStore temp;
  temp.write(kFolder, kName, TempStore::header("aaaa000011112222", "/x") + "\n");
  std::filesystem::create_directories(temp.sessions() / kFolder / kName);
  std::ofstream(temp.sessions() / kFolder / kName / "0.bash.log") << "output\n";
  const std::string before = bytes_of(temp.log(kFolder, kName));
  UnsyncedDisk disk;
  const auto store = open_store(temp.root(), disk);
  Trash trash(temp.root() + "/trash", disk);
  EXPECT_FALSE(trash.take(*store, {kFolder, std::string(kName) + ".jsonl"}, "Kites"));
  EXPECT_EQ(bytes_of(temp.log(kFolder, kName)), before);
  EXPECT_EQ(bytes_of(temp.sessions() / kFolder / kName / "0.bash.log"), "output\n");
  EXPECT_TRUE(trash.list().empty());
}

}  // namespace
}  // namespace arborfs
