// Indexes that are dropped and read again: only the time that it takes shows it (CONTRACT.md 7.12).
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "core/session/loaded_indexes.h"
#include "core/session/session.h"
#include "core/session/store_state.h"
#include "core/views/session_views.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

class EvictTest : public ::testing::Test {
 protected:
  EvictTest() : catalog(omp::open_store(temp.root()), "/home/dev", "") {
    temp.write(kFolder, kName, TempStore::two_entries());
    rest(kName);
    catalog.rescan();
    session = catalog.view()->by_id.front().second;
    expect_ok(session->refresh(Depth::details));
    before = state();
    seen = catalog.feed().last_sequence();
  }
  static void expect_ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }
  /// Makes the log look as if it had not been written for long.
  void rest(const std::string& name) const {
    const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(100);
    std::filesystem::last_write_time(temp.log(kFolder, name), old);
  }

  struct State {
    std::uint32_t generation = 0;
    std::uint32_t raw_generation = 0;
    std::uint32_t epoch = 0;
    Ordinal entries = 0;
    Ordinal leaf = 0;
    bool operator==(const State&) const = default;
  };
  [[nodiscard]] State state() const {
    const auto guard = session->read();
    return guard ? State{guard->generation(), guard->raw_generation(), guard->epoch(), guard->index().size(),
                         guard->leaf()}
                 : State{};
  }
  std::vector<Change> changes() { return catalog.feed().after(seen, 10); }
  std::string bytes_of(const ViewRow& view, std::uint32_t item) {
    auto document = make_view(*session, view, item, catalog);
    auto bytes = document ? document->content->read_all() : Result<std::string>(document.error());
    return bytes ? *bytes : "error: " + bytes.error().message;
  }

  TempStore temp;
  Catalog catalog;
  SessionPtr session;
  State before;
  std::uint64_t seen = 0;
};

TEST_F(EvictTest, ReloadRestoresTheState) {
  const std::string text = bytes_of(item_views::entry_text, 2);
  ASSERT_TRUE(session->evict());
  EXPECT_FALSE(session->read());
  EXPECT_EQ(session->memory_bytes(), 0U);
  EXPECT_EQ(session->versions().entries, before.generation);
  expect_ok(session->refresh(Depth::details));
  EXPECT_EQ(state(), before);
  EXPECT_EQ(bytes_of(item_views::entry_text, 2), text);
  EXPECT_TRUE(changes().empty());
}

TEST_F(EvictTest, AppendAfterUnloadIsReportedAsUsual) {
  ASSERT_TRUE(session->evict());
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  expect_ok(session->refresh(Depth::index));
  EXPECT_EQ(state().generation, before.generation);
  EXPECT_EQ(state().raw_generation, before.raw_generation);
  EXPECT_NE(state().epoch, before.epoch);
  ASSERT_EQ(changes().size(), 1U);
  EXPECT_EQ(changes()[0].kind, Change::Kind::session_appended);
  EXPECT_EQ(changes()[0].first, 3U);
  EXPECT_EQ(changes()[0].last, 3U);
}

TEST_F(EvictTest, FollowReportsAppendsAfterUnload) {
  ASSERT_TRUE(session->evict());
  expect_ok(session->follow());
  EXPECT_FALSE(session->read()) << "nothing has happened";
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  catalog.touch(session->place());
  EXPECT_EQ(state().generation, before.generation);
  ASSERT_FALSE(changes().empty());
  EXPECT_EQ(changes().back().kind, Change::Kind::session_appended);
}

TEST_F(EvictTest, HeadRefreshReportsTheChangeAndKeepsGenerations) {
  ASSERT_TRUE(session->evict());
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  expect_ok(session->refresh(Depth::head));
  EXPECT_FALSE(session->read());
  EXPECT_EQ(session->raw()->generation, before.raw_generation);
  EXPECT_EQ(session->versions().entries, before.generation);
  ASSERT_EQ(changes().size(), 1U);
  EXPECT_EQ(changes()[0].kind, Change::Kind::session_touched);
  catalog.touch(session->place());
  EXPECT_EQ(state().generation, before.generation);
  EXPECT_EQ(changes().back().kind, Change::Kind::session_appended);
}

TEST_F(EvictTest, RewriteAfterUnloadIsANewGeneration) {
  for (const bool looks_at_head_first : {false, true}) {
    before = state();
    rest(kName);
    expect_ok(session->refresh(Depth::details));
    ASSERT_TRUE(session->evict());
    seen = catalog.feed().last_sequence();
    const auto old = session->versions();
    temp.replace(kFolder, kName,
                 TempStore::header("aaaa000011112222", "/work/pi") + "\n" + TempStore::user("f1", "", "other") + "\n" +
                     TempStore::user("f2", "f1", looks_at_head_first ? "again" : "once") + "\n");
    if (looks_at_head_first) {
      expect_ok(session->refresh(Depth::raw));
    }
    expect_ok(session->refresh(Depth::index));
    EXPECT_NE(state().generation, old.entries);
    EXPECT_NE(state().raw_generation, old.raw);
    ASSERT_FALSE(changes().empty());
    EXPECT_EQ(changes()[0].kind, Change::Kind::session_rewritten);
    EXPECT_EQ(changes()[0].old_generation, old.entries);
  }
}

TEST_F(EvictTest, InPlaceChangeAfterUnloadIsANewGeneration) {
  ASSERT_TRUE(session->evict());
  temp.write(kFolder, kName,
             TempStore::header("aaaa000011112222", "/work/pi") + "\n" + TempStore::user("e1", "", "eno") + "\n" +
                 TempStore::user("e2", "e1", "two") + "\n");
  expect_ok(session->refresh(Depth::raw));
  EXPECT_NE(session->raw()->generation, before.raw_generation);
  expect_ok(session->refresh(Depth::index));
  EXPECT_NE(state().generation, before.generation);
}

/// A second entry with the id of an earlier one takes over its children (omp/FORMAT.md C2).
TEST_F(EvictTest, DuplicateIdAfterUnloadIsANewGenerationOfTheSameBytes) {
  ASSERT_TRUE(session->evict());
  temp.append(kFolder, kName, TempStore::user("e1", "e2", "again") + "\n");
  expect_ok(session->refresh(Depth::index));
  EXPECT_NE(state().generation, before.generation);
  EXPECT_EQ(state().raw_generation, before.raw_generation);
  ASSERT_EQ(changes().size(), 1U);
  EXPECT_EQ(changes()[0].kind, Change::Kind::session_rewritten);
}

TEST_F(EvictTest, SessionInUseIsNotUnloaded) {
  {
    const Session::Use use(session);
    const Session::Use another(use);
    EXPECT_FALSE(session->evict());
    EXPECT_EQ(state(), before);
  }
  EXPECT_TRUE(session->evict());
}

TEST_F(EvictTest, GrowingLogIsNotUnloaded) {
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  EXPECT_FALSE(session->evict()) << "it has grown";
  expect_ok(session->refresh(Depth::index));
  EXPECT_FALSE(session->evict()) << "it is young";
}

TEST_F(EvictTest, MovedLeafSurvivesUnloadAndMovesAreReported) {
  const auto move_to = [&](const char* id) {
    const EntryId last{EntryId::Kind::string, "e2"};
    const KeptLeaf kept{2, last, EntryId{EntryId::Kind::string, id}};
    ASSERT_TRUE(catalog.state(0).leaves.save(session->place().file, kept, false));
    catalog.leaves_changed();
  };
  move_to("e1");
  ASSERT_EQ(state().leaf, 1U);
  ASSERT_TRUE(session->evict());
  expect_ok(session->refresh(Depth::index));
  EXPECT_EQ(state().leaf, 1U);
  ASSERT_TRUE(session->evict());
  seen = catalog.feed().last_sequence();
  catalog.leaves_changed();
  EXPECT_TRUE(changes().empty()) << "the leaf is where it was";
  move_to("e2");
  EXPECT_EQ(changes().size(), 1U);
  expect_ok(session->refresh(Depth::index));
  EXPECT_EQ(state().leaf, 2U);
}

TEST_F(EvictTest, RawLogNeedsNoIndex) {
  ASSERT_TRUE(session->evict());
  EXPECT_EQ(bytes_of(*find_view("raw.jsonl"), 0), TempStore::two_entries());
  EXPECT_EQ(view_facts(*session, *find_view("raw.jsonl"), 0, catalog)->size, TempStore::two_entries().size());
  EXPECT_FALSE(session->read());
}

TEST_F(EvictTest, UnusedIndexesAreKeptUpToALimit) {
  const std::string other = "2026-02-17T10-20-30-000Z_bbbb000011112222";
  temp.write(kFolder, other, TempStore::header("bbbb000011112222", "/work/pi") + "\n");
  rest(other);
  catalog.rescan();
  const auto second = catalog.at({kFolder, other + ".jsonl"});
  expect_ok(second->refresh(Depth::details));
  const Session::Use use(second);
  LoadedIndexes roomy(1 << 20);
  LoadedIndexes none(0);
  for (auto* loaded : {&roomy, &none}) {
    loaded->note(session);
    loaded->note(second);
  }
  EXPECT_TRUE(session->read()) << "it was used just now";
  const auto from = session->last_used() + LoadedIndexes::kJustUsed;
  std::this_thread::sleep_until(from + std::chrono::milliseconds(1));
  temp.append(kFolder, other, TempStore::user("e1", "", "one") + "\n");
  expect_ok(second->refresh(Depth::details));
  roomy.note(second);
  EXPECT_TRUE(session->read());
  none.note(second);
  EXPECT_FALSE(session->read());
  EXPECT_TRUE(second->read()) << "it is in use";
}

TEST_F(EvictTest, SlowlyLoadedIndexIsKeptForItsReader) {
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  rest(kName);
  Catalog sparing(omp::open_store(temp.root()), "/home/dev", "", 0);
  sparing.rescan();
  const auto slow = sparing.at({kFolder, std::string(kName) + ".jsonl"});
  ASSERT_TRUE(slow);
  expect_ok(slow->refresh(Depth::details, [&] {
    std::this_thread::sleep_until(slow->last_used() + LoadedIndexes::kJustUsed + std::chrono::milliseconds(1));
    return slow->store().stat(slow->place());
  }));
  EXPECT_TRUE(slow->read());
}

TEST_F(EvictTest, RecentlyUsedIndexIsUnloadedLater) {
  LoadedIndexes none(0);
  none.note(session);
  none.tidy(nullptr);
  EXPECT_TRUE(session->read()) << "it was used just now";
  std::this_thread::sleep_until(session->last_used() + LoadedIndexes::kJustUsed + std::chrono::milliseconds(1));
  none.tidy(nullptr);
  EXPECT_FALSE(session->read());
}

}  // namespace
}  // namespace arborfs
