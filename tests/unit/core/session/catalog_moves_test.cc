// Sessions that move: clients that know them by their old names are notified (CONTRACT.md 3.2).
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "tests/support/foreign_store.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";
constexpr char kId[] = "aaaa000011112222";

class CatalogMovesTest : public ::testing::Test {
 protected:
  CatalogMovesTest() : catalog(omp::open_store(temp.root()), "/home/dev") {
    temp.write(kFolder, kName, TempStore::two_entries());
    catalog.rescan();
    session = catalog.view()->by_id.front().second;
    mark = catalog.feed().last_sequence();
  }
  /// The path in the change of this kind since then.
  std::optional<std::string> told(Change::Kind kind) {
    for (const auto& change : catalog.feed().after(mark, 100)) {
      if (change.kind == kind && change.session_id == kId) {
        return change.path;
      }
    }
    return std::nullopt;
  }

  TempStore temp;
  Catalog catalog;
  SessionPtr session;
  std::uint64_t mark = 0;
};

TEST_F(CatalogMovesTest, CwdChangeIsReportedWithBothPaths) {
  temp.replace(kFolder, kName, TempStore::header(kId, "/work/other") + "\n");
  catalog.touch({kFolder, std::string(kName) + ".jsonl"});
  EXPECT_EQ(told(Change::Kind::session_removed), std::string("projects/work-pi/") + kName);
  EXPECT_EQ(told(Change::Kind::session_added), std::string("projects/work-other/") + kName);
}

TEST_F(CatalogMovesTest, MoveBetweenRescannedFoldersKeepsTheSession) {
  std::filesystem::create_directory(temp.sessions() / "other");
  std::filesystem::rename(temp.log(kFolder, kName), temp.log("other", kName));
  catalog.rescan_folders({{0, kFolder}, {0, "other"}});
  ASSERT_EQ(catalog.view()->by_id.size(), 1U);
  EXPECT_EQ(catalog.view()->by_id.front().second, session);
  EXPECT_EQ(session->place().folder, "other");
  EXPECT_EQ(told(Change::Kind::session_removed), std::nullopt);
}

/// The news of a write may be read after the log has moved, and before the news of the move.
TEST_F(CatalogMovesTest, NewsOfAWriteBeforeAMoveKeepsTheSession) {
  std::filesystem::create_directory(temp.sessions() / "other");
  std::filesystem::rename(temp.log(kFolder, kName), temp.log("other", kName));
  catalog.touch({kFolder, std::string(kName) + ".jsonl"});
  ASSERT_EQ(catalog.view()->by_id.size(), 1U);
  EXPECT_EQ(catalog.view()->by_id.front().second, session);
  EXPECT_EQ(session->place().folder, "other");
  EXPECT_EQ(told(Change::Kind::session_removed), std::nullopt);
}

/// After `folder` was listed for the second time, `then` happens once.
class ListingThen : public testing::ForeignStore {
 public:
  ListingThen(const std::string& agent_dir, std::string folder, std::function<void()> then)
      : ForeignStore(agent_dir), folder_(std::move(folder)), then_(std::move(then)) {}
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder, const HeadWanted& wants) const override {
    auto found = ForeignStore::logs(folder, wants);
    if (folder == folder_ && ++listed_ == 2) {
      then_();
    }
    return found;
  }

 private:
  const std::string folder_;
  const std::function<void()> then_;
  mutable int listed_ = 0;
};

/// A log that moves from a folder not scanned yet to one already scanned is seen in neither.
TEST(CatalogMoves, MoveDuringTheScanOfItsFoldersKeepsTheSession) {
  const TempStore temp;
  temp.write("b", kName, TempStore::two_entries());
  std::filesystem::create_directory(temp.sessions() / "a");
  const auto move = [&] { std::filesystem::rename(temp.log("b", kName), temp.log("a", kName)); };
  Catalog catalog(std::make_shared<ListingThen>(temp.root(), "a", move), "/home/dev");
  catalog.rescan();
  const SessionPtr session = catalog.view()->by_id.front().second;
  catalog.rescan_folders({{0, "a"}, {0, "b"}});
  ASSERT_EQ(catalog.view()->by_id.size(), 1U);
  EXPECT_EQ(catalog.view()->by_id.front().second, session);
  EXPECT_EQ(session->place().folder, "a");
}

TEST_F(CatalogMovesTest, UnmovedSessionsAreNotReported) {
  temp.write(kFolder, "x_2", TempStore::header("2", "/work/pi") + "\n");
  catalog.rescan();
  EXPECT_EQ(told(Change::Kind::session_removed), std::nullopt);
}

TEST_F(CatalogMovesTest, RemovedProjectIsStillKnownByNumber) {
  const std::uint32_t number = catalog.view()->projects.front()->number;
  std::filesystem::remove(temp.log(kFolder, kName));
  catalog.rescan();
  EXPECT_TRUE(catalog.view()->projects.empty());
  EXPECT_EQ(catalog.cwd_of_project(number), "/work/pi");
  EXPECT_EQ(catalog.cwd_of_project(number + 1), std::nullopt);
}

}  // namespace
}  // namespace arborfs
