// Deleting from the trash for good: each disk operation fails in turn, and the power fails after each. The trash has
// the session with all its files, or does not list it; what is left over goes with the next deletion (CONTRACT.md 4.7).
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/acts.h"
#include "tests/support/crash_disk.h"
#include "tests/support/faulty_disk.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT(google-build-using-namespace): the stage and its disks are all of it

constexpr unsigned kEnough = 200;

std::size_t files_in_trash(const Stage& stage) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(trash_of(stage))) {
    count += entry.is_regular_file() ? 1 : 0;
  }
  return count;
}

/// Erases all that the trash lists.
Result<void> erase_all(Stage& stage, Disk& disk) {
  Trash trash(trash_of(stage), disk);
  Result<void> done;
  for (const Trashed& one : trash.list()) {
    auto erased = trash.erase(one);
    done = erased ? done : erased;
  }
  trash.erase_leftovers();
  return done;
}

/// `log`: its bytes when it was removed.
void expect_whole_or_gone(Stage& stage, const std::string& log) {
  for (const Trashed& one : Trash(trash_of(stage)).list()) {
    const fs::path files = fs::path(trash_of(stage)) / one.name / "files";
    EXPECT_EQ(bytes_of_file(files / (std::string(kName) + ".jsonl")), log);
    EXPECT_EQ(bytes_of_file(files / kName / "1.bash.log"), "output");
  }
  EXPECT_TRUE(erase_all(stage, Disk::real()));
  EXPECT_TRUE(Trash(trash_of(stage)).list().empty());
  EXPECT_EQ(files_in_trash(stage), 0U) << "something is left over";
}

/// False if no operation failed.
bool erase_with_fault(Fault fault, unsigned at, unsigned count) {
  FaultyDisk disk;
  Stage stage(Storage::files, disk, settings_of_acts());
  EXPECT_TRUE(in_trash(stage));
  const std::string log = logs_of_s1(stage).front();
  disk.arm(fault, at, count);
  const auto done = erase_all(stage, disk);
  disk.disarm();
  const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                     "operation " + std::to_string(at) + ": " + (done ? "" : done.error().message));
  const bool has_failed = !disk.met().empty();
  EXPECT_TRUE(has_failed || (done && files_in_trash(stage) == 0));
  EXPECT_TRUE(!done || Trash(trash_of(stage)).list().empty());
  expect_whole_or_gone(stage, log);
  return has_failed;
}

TEST(TrashErase, LeavesASessionWholeOrUnlistedWhicheverOperationFails) {
  for (const unsigned count : {1U, FaultyDisk::kForGood}) {
    unsigned at = 1;
    while (at < kEnough && erase_with_fault(Fault::io, at, count)) {
      ++at;
    }
    EXPECT_GT(at, 4U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

/// False if the power failed after all was done.
bool erase_with_power_cut(unsigned behind) {
  CrashDisk disk;
  Stage stage(Storage::files, disk, settings_of_acts());
  EXPECT_TRUE(in_trash(stage));
  const std::string log = logs_of_s1(stage).front();
  disk.begin(stage.temp().root(), behind);
  static_cast<void>(erase_all(stage, disk));
  const bool is_cut = disk.is_off();
  std::vector<Image> images;
  for (const Names names : {Names::kept, Names::first_half, Names::gone}) {
    images.push_back(disk.image(Bytes::kept, names));
  }
  disk.end();
  for (const Image& image : images) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "power off behind operation " + std::to_string(behind));
    stage.stop();
    lay_out(image, stage.temp().root());
    stage.start();
    expect_whole_or_gone(stage, log);
  }
  return is_cut;
}

TEST(TrashErase, LeavesASessionWholeOrUnlistedWhenTheProcessOrThePowerFails) {
  unsigned behind = 0;
  while (behind < kEnough && erase_with_power_cut(behind)) {
    ++behind;
  }
  EXPECT_GT(behind, 3U);
  EXPECT_LT(behind, kEnough);
}

TEST(TrashErase, KeepsWhatAProcessUsesAndWhatItCannotRead) {
  Stage stage(Storage::files, Disk::real(), settings_of_acts());
  EXPECT_TRUE(in_trash(stage));
  Trash trash(trash_of(stage));
  const Trashed one = trash.list().front();
  const fs::path folder = fs::path(trash_of(stage)) / one.name;
  {
    const auto open = trash.open(one);
    ASSERT_TRUE(open && lock_for_restore(*open));
    fs::rename(folder / "from.json", folder / "away");
    trash.erase_leftovers();
    EXPECT_TRUE(fs::exists(folder / "files" / (std::string(kName) + ".jsonl"))) << "a process uses it";
  }
  fs::rename(folder / "away", folder / "from.json");
  std::ofstream(folder / "from.json") << "{damaged";
  trash.erase_leftovers();
  EXPECT_TRUE(fs::exists(folder / "files" / (std::string(kName) + ".jsonl"))) << "it has a note";
  fs::remove(folder / "from.json");
  trash.erase_leftovers();
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace arborfs
