// Moves of sessions to the trash and back where only some of the files can be renamed, as on a store with a mount in
// it.

#include "core/write/transfer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/store.h"
#include "tests/unit/command_write_support.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using testing::TempStore;

constexpr char kFolder[] = "-src-kite";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

/// Names that cannot be renamed to other folders, and a point from which nothing can be created.
class PartlyApartDisk : public Disk {
 public:
  std::set<std::string> apart;
  bool is_full = false;
  std::map<std::string, std::function<void()>> before;  // what another program does before a name is moved
  std::vector<std::string> moved;                       // to other folders, in order
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    if (const auto act = before.find(name); act != before.end()) {
      std::exchange(act->second, [] {})();
    }
    if (from.fd() != to.fd()) {
      moved.push_back(name);
    }
    return from.fd() != to.fd() && apart.contains(name) ? Result<void>(Errc::unsupported, "apart")
                                                        : Disk::rename(from, name, to, new_name, existing);
  }
  Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode) override {
    return is_full ? Result<UniqueFd>(Errc::no_space, "full") : Disk::create(folder, name, mode);
  }
};

class PartlyApart : public ::testing::Test {
 protected:
  PartlyApart() {
    temp_.write(kFolder, kName, TempStore::header("aaaa000011112222", "/x") + "\n");
    const fs::path artifacts = folder() / kName;
    fs::create_directories(artifacts);
    std::ofstream(artifacts / "0.bash.log") << "output\n";
    std::ofstream(folder() / (log() + ".x.bak")) << "backup\n";
    before_ = files();
  }
  [[nodiscard]] fs::path folder() const { return temp_.sessions() / kFolder; }
  static std::string log() { return std::string(kName) + ".jsonl"; }
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      if (entry.is_regular_file()) {
        found[fs::relative(entry.path(), folder()).string()] = bytes_of(entry.path());
      }
    }
    return found;
  }
  Result<Trashed> take() {
    return transfer_.take(*store_, {kFolder, log()}, "Kites", omp::belongings_of(*store_, {kFolder, log()}));
  }
  Result<void> restore() {
    const Trashed trashed = transfer_.trash().list().at(0);
    return transfer_.restore(trashed, *omp::belongings_of(*store_, trashed.place));
  }

  TempStore temp_;
  PartlyApartDisk disk_;
  std::shared_ptr<Store> store_ = omp::open_store(temp_.root(), disk_);
  Transfer transfer_{temp_.root() + "/trash", disk_};
  std::map<std::string, std::string> before_;
};

TEST_F(PartlyApart, ASessionIsCopiedThereAndBack) {
  for (const std::string& name : {log(), std::string(kName), log() + ".x.bak"}) {
    disk_.apart = {name};
    const auto taken = take();
    ASSERT_TRUE(taken) << name << ": " << taken.error().message;
    EXPECT_TRUE(files().empty()) << name;
    const auto done = restore();
    ASSERT_TRUE(done) << name << ": " << done.error().message;
    EXPECT_EQ(files(), before_) << name;
    EXPECT_TRUE(transfer_.trash().list().empty());
  }
}

TEST_F(PartlyApart, AFailedRestoreKeepsWhatWasRenamed) {
  ASSERT_TRUE(take());
  for (const std::string& name : {log(), log() + ".x.bak"}) {
    disk_.apart = {name};
    disk_.is_full = true;
    EXPECT_FALSE(restore()) << name;
    EXPECT_FALSE(files().contains(log())) << name;
    disk_.is_full = false;
  }
  disk_.apart.clear();
  ASSERT_TRUE(restore());
  EXPECT_EQ(files(), before_);
}

TEST_F(PartlyApart, ALogUnderTheNameKeepsTheSessionInTheTrash) {
  ASSERT_TRUE(take());
  disk_.before[log()] = [&] { std::ofstream(folder() / log()) << "what an agent made of a backup\n"; };
  const auto done = restore();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::already_exists);
  ASSERT_EQ(transfer_.trash().list().size(), 1U);
  fs::remove(folder() / log());
  ASSERT_TRUE(restore());
  EXPECT_EQ(files(), before_);
}

TEST_F(PartlyApart, AFolderThatGoesKeepsTheSessionInTheTrash) {
  ASSERT_TRUE(take());
  disk_.before[log()] = [&] { fs::remove_all(folder()); };
  EXPECT_FALSE(restore());
  EXPECT_EQ(transfer_.trash().list().size(), 1U);
}

TEST_F(PartlyApart, BackupsAreInTheStoreOnlyWithTheLog) {
  const std::string backup = log() + ".x.bak";
  ASSERT_TRUE(take());
  EXPECT_EQ(disk_.moved, (std::vector<std::string>{backup, log(), kName}));
  disk_.moved.clear();
  ASSERT_TRUE(restore());
  EXPECT_EQ(disk_.moved, (std::vector<std::string>{kName, log(), backup}));
}

TEST_F(PartlyApart, WhatAKilledRemovalLeftIsMovedWhenTheLogIsGone) {
  ASSERT_TRUE(take());
  const Trashed trashed = transfer_.trash().list().at(0);
  const fs::path there = fs::path(temp_.root()) / "trash" / trashed.name / "files";
  fs::create_directories(folder());
  for (const auto& name : {std::string(kName), log() + ".x.bak"}) {
    ASSERT_TRUE(fs::exists(there / name)) << there;
    fs::rename(there / name, folder() / name);
  }
  ASSERT_TRUE(transfer_.finish(trashed, *omp::belongings_of(*store_, trashed.place)));
  EXPECT_TRUE(files().empty());
  ASSERT_TRUE(restore());
  EXPECT_EQ(files(), before_);
}

TEST_F(PartlyApart, ASessionThatIsGoneLeavesNothingInTheTrash) {
  fs::remove(folder() / log());
  const auto taken = take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::not_found);
  EXPECT_TRUE(transfer_.trash().list().empty());
  EXPECT_TRUE(fs::exists(folder() / kName));
}

}  // namespace
}  // namespace arborfs
