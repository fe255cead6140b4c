// The trash when the disk fails.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/store.h"
#include "core/store/store.h"
#include "tests/support/faulty_disk.h"
#include "tests/unit/command_write_support.h"

namespace arborfs {
namespace {

using ::arborfs::testing::bytes_of;
using ::arborfs::testing::Fault;
using ::arborfs::testing::FaultyDisk;
using ::arborfs::testing::TempStore;

constexpr char kFolder[] = "-src-kite";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

/// A disk that cannot sync a folder.
class UnsyncedDisk : public Disk {
 public:
  Result<void> sync_folder(const Dir& /*folder*/) override {
    return {Errc::io, "cannot sync the folder to disk: broken"};
  }
};

/// The trash of a store of omp.
class OmpTrash : public Transfer {
 public:
  explicit OmpTrash(const std::string& folder, Disk& disk = Disk::real()) : Transfer(folder, disk), trash_(folder) {}
  Result<Trashed> take(const Store& store, const LogPlace& place, const std::string& title) {
    return Transfer::take(store, place, title, omp::belongings_of(store, place));
  }
  [[nodiscard]] std::vector<Trashed> list() const { return trash_.list(); }

 private:
  const Trash trash_;
};

TEST(Trash, FailedTrashingKeepsTheLog) {
  const TempStore temp;
  temp.write(kFolder, kName, TempStore::header("aaaa000011112222", "/x") + "\n");
  std::filesystem::create_directories(temp.sessions() / kFolder / kName);
  std::ofstream(temp.sessions() / kFolder / kName / "0.bash.log") << "output\n";
  const std::string before = bytes_of(temp.log(kFolder, kName));
  UnsyncedDisk disk;
  const auto store = omp::open_store(temp.root(), disk);
  OmpTrash trash(temp.root() + "/trash", disk);
  EXPECT_FALSE(trash.take(*store, {kFolder, std::string(kName) + ".jsonl"}, "Kites"));
  EXPECT_EQ(bytes_of(temp.log(kFolder, kName)), before);
  EXPECT_EQ(bytes_of(temp.sessions() / kFolder / kName / "0.bash.log"), "output\n");
  EXPECT_TRUE(trash.list().empty());
}

TEST(Trash, TwoRemovalsOfOneSessionInOneMillisecondShareNoFolder) {
  const TempStore temp;
  Trash trash(temp.root() + "/trash");
  Trashed trashed;
  trashed.name = "2026-02-16T10-20-30.000Z_ses";
  {
    const auto first = trash.make_folder(trashed);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(trash.make_folder(trashed).error().code, Errc::busy);
  }
  EXPECT_EQ(trash.make_folder(trashed).error().code, Errc::busy) << "after the first has ended";
}

TEST(Trash, ASessionWithALongTitleIsListed) {
  const TempStore temp;
  temp.write(kFolder, kName, TempStore::header("aaaa000011112222", "/x") + "\n");
  const auto store = omp::open_store(temp.root(), Disk::real());
  OmpTrash trash(temp.root() + "/trash");
  ASSERT_TRUE(trash.take(*store, {kFolder, std::string(kName) + ".jsonl"}, std::string(1 << 20, 'x')));
  ASSERT_EQ(trash.list().size(), 1U);
  EXPECT_EQ(trash.list()[0].title, std::string(1024, 'x'));
}

/// A session in the trash on another file system, for tests of a restore with parts in the store and in the trash.
class RestoreAcrossFileSystems : public ::testing::Test {
 protected:
  RestoreAcrossFileSystems() {
    temp_.write(kFolder, kName, TempStore::header("aaaa000011112222", "/x") + "\n");
    std::filesystem::create_directories(artifacts());
    std::ofstream(artifacts() / "0.bash.log") << "output\n";
    std::ofstream(artifacts() / "1.bash.log") << "more\n";
    log_ = bytes_of(temp_.log(kFolder, kName));
    const auto store = omp::open_store(temp_.root(), disk_);
    EXPECT_TRUE(trash_.take(*store, {kFolder, std::string(kName) + ".jsonl"}, "Kites"));
    disk_.set_apart(temp_.root() + "/trash");
  }
  Result<void> restore(const Trashed& trashed) {
    const auto store = omp::open_store(temp_.root(), disk_);
    return trash_.restore(trashed, *omp::belongings_of(*store, trashed.place));
  }
  [[nodiscard]] std::filesystem::path artifacts() const { return temp_.sessions() / kFolder / kName; }
  void expect_restored() const {
    EXPECT_EQ(bytes_of(temp_.log(kFolder, kName)), log_);
    EXPECT_EQ(bytes_of(artifacts() / "0.bash.log"), "output\n");
    EXPECT_EQ(bytes_of(artifacts() / "1.bash.log"), "more\n");
    const auto there = std::filesystem::directory_iterator(temp_.sessions() / kFolder);
    EXPECT_EQ(std::distance(begin(there), end(there)), 2) << "the log and its artifacts";
    EXPECT_TRUE(trash_.list().empty());
  }

  TempStore temp_;
  FaultyDisk disk_;
  OmpTrash trash_{temp_.root() + "/trash", disk_};
  std::string log_;
};

TEST_F(RestoreAcrossFileSystems, InterruptedRestoreIsCompletedByTheNext) {
  constexpr unsigned kLongest = 60;
  const auto trashed = trash_.list().front();
  unsigned at = 1;
  for (bool killed = true; killed && at < kLongest; ++at) {
    disk_.arm(Fault::io, at, FaultyDisk::kForGood);
    static_cast<void>(restore(trashed));
    killed = !disk_.met().empty();
    disk_.disarm();
    if (trash_.list().empty()) {
      break;
    }
    const auto again = restore(trashed);
    ASSERT_TRUE(again) << "killed before operation " << at << ": " << again.error().message;
    expect_restored();
    disk_.set_apart("");
    const auto store = omp::open_store(temp_.root(), disk_);
    ASSERT_TRUE(trash_.take(*store, trashed.place, "Kites"));
    std::filesystem::rename(temp_.root() + "/trash/" + trash_.list().front().name,
                            temp_.root() + "/trash/" + trashed.name);
    disk_.set_apart(temp_.root() + "/trash");
  }
  expect_restored();
  EXPECT_GT(at, 10U);
  EXPECT_LT(at, kLongest);
}

TEST_F(RestoreAcrossFileSystems, ExistingFilesAreNotReplaced) {
  const auto trashed = trash_.list().front();
  std::filesystem::create_directories(artifacts());
  std::ofstream(artifacts() / "0.bash.log") << "another's\n";
  const auto done = restore(trashed);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::already_exists);
  EXPECT_EQ(bytes_of(artifacts() / "0.bash.log"), "another's\n");
  EXPECT_EQ(trash_.list().size(), 1U);
}

TEST_F(RestoreAcrossFileSystems, ConcurrentRestoreIsBusy) {
  const auto trashed = trash_.list().front();
  const UniqueFd other(::open((temp_.root() + "/trash/" + trashed.name + "/files").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  const auto done = restore(trashed);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::busy);
}

}  // namespace
}  // namespace arborfs
