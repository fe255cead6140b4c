// Several stores in one catalog: equal folders, names and ids do not collide, and a broken store does not hide the
// others.
#include "core/store/store_set.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/base/hash.h"
#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/omp/store/memory_store.h"
#include "core/formats/omp/store/store.h"
#include "core/write/writer.h"
#include "tests/support/temp_store.h"
#include "tests/support/unreadable.h"

namespace arborfs {
namespace {

using testing::TempStore;
namespace fs = std::filesystem;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";
constexpr char kFile[] = "2026-02-16T10-20-30-000Z_aaaa000011112222.jsonl";
constexpr char kId[] = "aaaa000011112222";

std::string session_of(const std::string& id, const std::string& words) {
  return TempStore::header(id, "/work/pi") + "\n" + TempStore::user("e1", "", words) + "\n";
}

class StoreSetTest : public ::testing::Test {
 protected:
  static std::shared_ptr<Store> store_of(const TempStore& temp, const Format& format = omp::format()) {
    return omp::make_store(omp::agent_dir_paths(temp.root()), Disk::real(), format);
  }
  StoreSet both() const { return StoreSet({store_of(first), store_of(second)}); }
  [[nodiscard]] std::string state() const { return first.root() + "/state"; }

  static std::vector<std::string> ids_of(const Catalog& catalog) {
    std::vector<std::string> ids;
    for (const auto& [id, session] : catalog.view()->by_id) {
      ids.push_back(id);
    }
    return ids;
  }
  static std::string raw_of(const SessionPtr& session) {
    const auto log = session->store().open(session->place());
    const auto size = log ? (*log)->size() : Result<std::uint64_t>(log.error());
    const auto bytes = size ? (*log)->read(0, *size) : Result<std::string>(size.error());
    return bytes ? *bytes : bytes.error().message;
  }

  TempStore first;
  TempStore second;
};

TEST_F(StoreSetTest, EqualPlacesInTwoStoresAreTwoSessions) {
  first.write(kFolder, kName, session_of(kId, "one"));
  second.write(kFolder, kName, session_of(kId, "two"));
  Catalog catalog(both(), "/home/nobody", "");
  catalog.rescan();
  EXPECT_EQ(ids_of(catalog), (std::vector<std::string>{kId, std::string(kId) + "@omp"}));
  const auto one = catalog.at({kFolder, kFile, 0});
  const auto two = catalog.at({kFolder, kFile, 1});
  ASSERT_TRUE(one && two && one != two);
  EXPECT_EQ(catalog.view()->by_id[0].second, one);
  EXPECT_NE(raw_of(one).find("\"one\""), std::string::npos);
  EXPECT_NE(raw_of(two).find("\"two\""), std::string::npos);
  ASSERT_EQ(catalog.view()->projects.size(), 1U);
  const auto& shown = catalog.view()->projects[0]->sessions;
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].second, one);
  EXPECT_EQ(shown[1].first, std::string(kName) + "~2");
  catalog.rescan();
  EXPECT_EQ(catalog.at({kFolder, kFile, 1}), two) << "a rescan must not take one for the other";
}

TEST_F(StoreSetTest, LogNameMeansTheLogOfTheFirstStore) {
  first.write(kFolder, kName, TempStore::header(kId, "/z") + "\n");
  second.write(kFolder, kName, TempStore::header(kId, "/a") + "\n");
  Catalog catalog(both(), "/home/nobody", "");
  catalog.rescan();
  const auto found = catalog.find(kName);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->store_number(), 0U);
}

TEST_F(StoreSetTest, ATakenSecondIdGetsANumber) {
  const std::string taken = std::string(kId) + "@pi";
  first.write(kFolder, kName, session_of(kId, "one"));
  second.write(kFolder, kName, session_of(kId, "two"));
  second.write(kFolder, "2026-02-16T10-20-30-000Z_b", session_of(kId, "three"));
  Catalog catalog(StoreSet({store_of(first), store_of(second, omp::pi_format())}), "/home/nobody", "");
  catalog.rescan();
  EXPECT_EQ(ids_of(catalog), (std::vector<std::string>{kId, taken, taken + "~2"}));
  EXPECT_EQ(catalog.view()->by_id_prefix(taken)->store().format().agent, "pi");
}

TEST_F(StoreSetTest, EqualIdsInOneStoreGetNumbersAsBefore) {
  second.write(kFolder, kName, session_of(kId, "one"));
  second.write(kFolder, "2026-02-16T10-20-30-000Z_b", session_of(kId, "two"));
  Catalog catalog(both(), "/home/nobody", "");
  catalog.rescan();
  EXPECT_EQ(ids_of(catalog), (std::vector<std::string>{kId, std::string(kId) + "~2"}));
}

TEST_F(StoreSetTest, ALogThatMovesWithinItsStoreKeepsItsSession) {
  first.write(kFolder, kName, session_of(kId, "one"));
  second.write(kFolder, kName, session_of("bbbb000011112222", "two"));
  Catalog catalog(both(), "/home/nobody", "");
  catalog.rescan();
  const auto two = catalog.at({kFolder, kFile, 1});
  fs::create_directory(second.sessions() / "other");
  fs::rename(second.log(kFolder, kName), second.log("other", kName));
  catalog.rescan_folders({{1, kFolder}, {1, "other"}});
  EXPECT_EQ(catalog.at({"other", kFile, 1}), two);
  EXPECT_TRUE(catalog.at({kFolder, kFile, 0}));
  EXPECT_FALSE(catalog.at({kFolder, kFile, 1}));
}

TEST_F(StoreSetTest, ALogThatMovesToAnotherStoreIsANewSession) {
  first.write(kFolder, kName, session_of(kId, "one"));
  Catalog catalog(both(), "/home/nobody", "");
  catalog.rescan();
  const auto before = catalog.at({kFolder, kFile, 0});
  fs::create_directories(second.sessions() / kFolder);
  fs::rename(first.log(kFolder, kName), second.log(kFolder, kName));
  catalog.rescan();
  const auto after = catalog.at({kFolder, kFile, 1});
  ASSERT_TRUE(after);
  EXPECT_NE(after, before);
  EXPECT_EQ(after->store_number(), 1);
  EXPECT_EQ(ids_of(catalog), std::vector<std::string>{kId});
}

TEST_F(StoreSetTest, WritesAndMovedLeavesStayWithTheirStore) {
  first.write(kFolder, kName, TempStore::two_entries());
  second.write(kFolder, kName, TempStore::two_entries());
  {
    Catalog catalog(both(), "/home/nobody", state());
    catalog.rescan();
    omp::Writer writer(catalog, WriteSettings{});
    const auto two = catalog.at({kFolder, kFile, 1});
    ASSERT_TRUE(two->refresh(Depth::index));
    ASSERT_TRUE(writer.branch(two, "e1"));
  }
  Catalog catalog(both(), "/home/nobody", state());
  catalog.rescan();
  const auto leaf = [&](std::uint8_t store) {
    const auto session = catalog.at({kFolder, kFile, store});
    EXPECT_TRUE(session->refresh(Depth::index));
    const auto guard = session->read();
    return guard->index().id(guard->leaf()).text;
  };
  EXPECT_EQ(leaf(0), "e2");
  EXPECT_EQ(leaf(1), "e1");
  Catalog alone(store_of(second), "/home/nobody", state());
  alone.rescan();
  const auto session = alone.at({kFolder, kFile});
  EXPECT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->read()->index().id(session->read()->leaf()).text, "e1") << "the key is that of the store alone";
}

TEST_F(StoreSetTest, NewSessionsGoToTheFirstStoreOfOmp) {
  first.write(kFolder, kName, session_of(kId, "one"));
  Catalog catalog(StoreSet({store_of(first, omp::pi_format()), store_of(second)}), "/home/nobody", "");
  catalog.rescan();
  omp::Writer writer(catalog, WriteSettings{});
  NewSession wanted;
  wanted.cwd = "/work/new";
  const auto made = writer.create(wanted);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->session->store_number(), 1);
  EXPECT_TRUE(fs::exists(second.sessions() / made->session->place().folder / made->session->place().file));
}

TEST_F(StoreSetTest, WithoutAStoreOfOmpNewSessionsAreOfPi) {
  Catalog catalog(StoreSet(store_of(first, omp::pi_format())), "/home/nobody", "");
  catalog.rescan();
  omp::Writer writer(catalog, WriteSettings{});
  NewSession wanted;
  wanted.cwd = "/work/new";
  wanted.agent = "omp";
  const auto refused = writer.create(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::read_only);
  EXPECT_TRUE(fs::is_empty(first.sessions()));
  wanted.agent = "";
  const auto made = writer.create(wanted);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->session->agent(), "pi");
  EXPECT_TRUE(fs::exists(first.sessions() / "--work-new--" / made->session->place().file));
}

TEST_F(StoreSetTest, WithoutAStoreOfPiNoSessionOfPiIsCreated) {
  Catalog catalog(StoreSet(store_of(first)), "/home/nobody", "");
  catalog.rescan();
  omp::Writer writer(catalog, WriteSettings{});
  NewSession wanted;
  wanted.cwd = "/work/new";
  wanted.agent = "pi";
  const auto refused = writer.create(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::read_only);
  EXPECT_TRUE(fs::is_empty(first.sessions()));
}

TEST_F(StoreSetTest, BlobsOfAllStoresAreOneFolderAndEachSessionHasItsOwn) {
  const std::string one = sha256_hex("one");
  const std::string two = sha256_hex("two");
  const StoreSet stores = both();
  ASSERT_TRUE(stores.at(0)->blobs()->put(one, "one", false));
  ASSERT_TRUE(stores.at(1)->blobs()->put(two, "two", false));
  std::vector<std::string> all{one, two};
  std::sort(all.begin(), all.end());
  EXPECT_EQ(stores.blobs()->list().value(), all);
  EXPECT_EQ(stores.blobs()->read_blob(two), "two");
  EXPECT_FALSE(stores.blobs()->read_blob(sha256_hex("three")));
  EXPECT_FALSE(stores.at(0)->blobs()->read_blob(two));
}

/// How a store can be broken.
struct Breakage {
  const char* name;
  void (*apply)(const TempStore&);
  const char* words;
  bool is_absent;
};

class BrokenStoreTest : public ::testing::TestWithParam<Breakage> {};

TEST_P(BrokenStoreTest, HidesNoOtherAndSaysWhy) {
  TempStore good;
  TempStore bad;
  good.write(kFolder, kName, session_of(kId, "one"));
  bad.write(kFolder, kName, session_of("bbbb000011112222", "two"));
  GetParam().apply(bad);
  const auto open = [](const TempStore& temp) {
    return omp::make_store(omp::agent_dir_paths(temp.root()), Disk::real());
  };
  std::optional<arborfs::testing::Unreadable> unreadable;
  if (std::string(GetParam().name) == "Unreadable") {
    unreadable.emplace(bad.sessions());
  }
  for (const bool is_first : {true, false}) {
    const StoreSet stores(is_first ? std::vector{open(bad), open(good)} : std::vector{open(good), open(bad)});
    Catalog catalog(stores, "/home/nobody", "");
    catalog.rescan();
    ASSERT_EQ(catalog.view()->by_id.size(), 1U);
    EXPECT_EQ(catalog.view()->by_id[0].first, kId);
    EXPECT_FALSE(problem_of(*open(good)));
    const auto problem = problem_of(*open(bad));
    ASSERT_TRUE(problem);
    EXPECT_NE(problem->words.find(GetParam().words), std::string::npos) << problem->words;
    EXPECT_EQ(problem->is_absent, GetParam().is_absent);
    EXPECT_EQ(stores.main().paths().agent_dir, open(good)->paths().agent_dir);
  }
}

INSTANTIATE_TEST_SUITE_P(AllWays, BrokenStoreTest,
                         ::testing::Values(Breakage{"Unreadable", [](const TempStore&) {}, "ermission denied", false},
                                           Breakage{"File",
                                                    [](const TempStore& temp) {
                                                      fs::remove_all(temp.sessions());
                                                      std::ofstream(temp.sessions()) << "no folder";
                                                    },
                                                    "is not a folder", false},
                                           Breakage{"Fifo",
                                                    [](const TempStore& temp) {
                                                      fs::remove_all(temp.sessions());
                                                      ::mkfifo(temp.sessions().c_str(), 0600);
                                                    },
                                                    "is not a folder", false},
                                           Breakage{"Missing",
                                                    [](const TempStore& temp) { fs::remove_all(temp.sessions()); },
                                                    "there is no folder", true}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace arborfs
