// Sessions and catalog over a real folder: growth, rewrites, torn tails, moves, projects (CONTRACT.md 2, 3, 6, 7).
#include "core/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "core/session/watcher.h"
#include "core/views/session_facts.h"
#include "core/views/session_views.h"
#include "tests/support/failing_memory.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

std::string bytes_of(const SessionPtr& session, const ViewRow& row, std::uint32_t item, const Catalog& catalog) {
  auto document = make_view(*session, row, item, catalog);
  if (!document) {
    return "error: " + document.error().message;
  }
  auto bytes = document->content->read_all();
  return bytes ? *bytes : "error: " + bytes.error().message;
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : catalog(omp::open_store(temp.root()), "/home/dev") {}
  SessionPtr only() {
    catalog.rescan();
    const auto view = catalog.view();
    return view->by_id.empty() ? nullptr : view->by_id.front().second;
  }
  static void expect_ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message; }

  TempStore temp;
  Catalog catalog;
};

TEST_F(SessionTest, HeadNeedsNoIndex) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->head().header.cwd, "/work/pi");
  EXPECT_FALSE(session->read());
}

TEST_F(SessionTest, AppendKeepsTheGenerationAndPublishesTheEntries) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::details));
  const auto generation = session->read()->generation();
  const auto seen = catalog.feed().last_sequence();
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  expect_ok(session->refresh(Depth::details));
  EXPECT_EQ(session->read()->generation(), generation);
  EXPECT_EQ(session->read()->index().size(), 3U);
  const auto changes = catalog.feed().after(seen, 10);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].kind, Change::Kind::session_appended);
  EXPECT_EQ(changes[0].first, 3U);
  EXPECT_EQ(bytes_of(session, item_views::entry_text, 3, catalog), "three\n");
}

/// During an append the kernel shows a file's new time with its old size.
TEST_F(SessionTest, AppendSeenHalfwayKeepsTheGeneration) {
  temp.write(kFolder, kName, TempStore::two_entries() + TempStore::user("e3", "e2", std::string(20'000, 'x')) + "\n");
  const auto session = only();
  expect_ok(session->refresh(Depth::details));
  const auto generation = session->read()->generation();
  FileStat in_the_middle = session->stat();
  in_the_middle.mtime_ns += 1'000'000'000;
  temp.append(kFolder, kName, TempStore::user("e4", "e3", "four") + "\n");
  expect_ok(session->refresh(Depth::details, [&] { return Result<FileStat>(in_the_middle); }));
  EXPECT_EQ(session->read()->generation(), generation);
  EXPECT_EQ(session->read()->index().size(), 4U);
}

TEST_F(SessionTest, RefreshByOneCallerServesAll) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::index));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(session->is_known_since(before, Depth::head));
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  catalog.touch(session->place());  // as the watcher does, which needs only the head
  EXPECT_TRUE(session->is_known_since(before, Depth::index));
  EXPECT_EQ(session->read()->index().size(), 3U);
  EXPECT_FALSE(session->is_known_since(before, Depth::details));
  EXPECT_FALSE(session->is_known_since(std::chrono::steady_clock::now(), Depth::index)) << "when the look began counts";
  session->forget_look();
  EXPECT_FALSE(session->is_known_since(before, Depth::index));
}

TEST_F(SessionTest, FailedRefreshDoesNotCount) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::index));
  const auto before = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_TRUE(session->is_known_since(before, Depth::index));
  std::filesystem::remove(temp.root() + "/sessions/" + kFolder + "/" + kName + ".jsonl");
  EXPECT_FALSE(session->refresh(Depth::index));
  EXPECT_FALSE(session->is_known_since(before, Depth::head));
}

TEST_F(SessionTest, RewriteIsANewGenerationAndOldContentNeverMixes) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::index));
  const auto generation = session->read()->generation();
  auto old_entry = make_view(*session, item_views::entry_json, 2, catalog);
  ASSERT_TRUE(old_entry);
  temp.replace(kFolder, kName,
               TempStore::header("aaaa000011112222", "/work/pi") + "\n" + TempStore::user("f1", "", "shifted") + "\n" +
                   TempStore::user("f2", "f1", "other") + "\n");
  expect_ok(session->refresh(Depth::index));
  EXPECT_NE(session->read()->generation(), generation);
  auto bytes = old_entry->content->read_all();
  EXPECT_TRUE(!bytes || *bytes == TempStore::user("e2", "e1", "two") + "\n");
}

TEST_F(SessionTest, TruncationInPlaceIsNoticedAndOldHandlesGoStale) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::index));
  auto old_entry = make_view(*session, item_views::entry_json, 2, catalog);
  ASSERT_TRUE(old_entry);
  std::filesystem::resize_file(temp.log(kFolder, kName), 150);
  expect_ok(session->refresh(Depth::index));
  EXPECT_LT(session->read()->index().size(), 2U);
  const auto bytes = old_entry->content->read_all();
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Errc::stale);
}

TEST_F(SessionTest, F29TornTailIsNoDamageUntilItIsTwoSecondsOld) {
  temp.write(kFolder, kName, TempStore::two_entries() + R"({"type":"message","id":"e3","par)");
  const auto session = only();
  expect_ok(session->refresh(Depth::index));
  EXPECT_EQ(session->read()->index().size(), 2U);
  EXPECT_TRUE(shown_damage(*session->read()).empty());
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(3);
  std::filesystem::last_write_time(temp.log(kFolder, kName), old);
  expect_ok(session->refresh(Depth::index));
  EXPECT_EQ(shown_damage(*session->read()).size(), 1U);
}

TEST_F(SessionTest, OutOfMemoryDuringGrowthLeavesAConsistentState) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::details));
  std::string parent = "e2";
  bool has_failed = true;
  for (std::size_t skipped = 0; has_failed; ++skipped) {
    const std::string id = "g" + std::to_string(skipped);
    temp.append(kFolder, kName, TempStore::user(id, parent, "grown by a few words") + "\n");
    parent = id;
    {
      const testing::FailingMemory memory(skipped);
      try {
        static_cast<void>(session->refresh(Depth::details));
      } catch (const std::bad_alloc&) {
      }
      has_failed = memory.has_failed();
    }
    expect_ok(session->refresh(Depth::details));
    const auto guard = session->read();
    ASSERT_TRUE(guard && guard->has_details());
    ASSERT_EQ(guard->index().size(), 3 + skipped);
    ASSERT_EQ(guard->details().size(), guard->index().size());
    ASSERT_EQ(guard->leaf(), guard->index().size());
    ASSERT_EQ(guard->details().text_size(3 + static_cast<Ordinal>(skipped)), guard->details().text_size(3));
  }
}

TEST_F(SessionTest, LoadedDetailsAlwaysCoverTheIndex) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::details));
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      if (const auto guard = session->read()) {
        ASSERT_TRUE(guard->has_details());
        ASSERT_EQ(guard->details().size(), guard->index().size());
      }
    }
  });
  std::string parent = "e2";
  for (int round = 0; round < 60; ++round) {
    const std::string id = "g" + std::to_string(round);
    temp.append(kFolder, kName, TempStore::user(id, parent, "grown") + "\n");
    expect_ok(session->refresh(Depth::head));
    parent = id;
    if (round % 20 == 19) {
      temp.replace(kFolder, kName, TempStore::two_entries());
      expect_ok(session->refresh(Depth::index));
      parent = "e2";
    }
  }
  stop = true;
  reader.join();
}

TEST_F(SessionTest, DeletionRemovesAndFolderRenameKeepsTheSession) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  expect_ok(session->refresh(Depth::index));
  std::filesystem::rename(temp.sessions() / kFolder, temp.sessions() / "-moved");
  const auto after = only();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->number(), session->number());
  expect_ok(after->refresh(Depth::index));
  std::filesystem::remove_all(temp.sessions() / "-moved");
  EXPECT_FALSE(only());
  EXPECT_EQ(session->head().problem, "the log is gone");
  EXPECT_FALSE(session->read());
}

TEST_F(SessionTest, F15ProjectsComeFromTheHeaderNotTheFolder) {
  temp.write("--a-b-c--", "x_1", TempStore::header("1", "/a/b-c") + "\n");
  temp.write("--a-b-c--", "x_2", TempStore::header("2", "/a-b/c") + "\n");
  temp.write("--a-b-c--", "x_3", "no header at all\n");
  catalog.rescan();
  const auto view = catalog.view();
  ASSERT_EQ(view->projects.size(), 3U);
  EXPECT_EQ(view->projects[0]->name, "a-b-c");
  EXPECT_EQ(view->projects[0]->cwd, "/a-b/c");
  EXPECT_EQ(view->projects[1]->name, "a-b-c~2");
  EXPECT_EQ(view->projects[2]->name, "unknown");
}

TEST_F(SessionTest, HeaderReadByAClientMovesTheSession) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  for (const std::string cwd : {"/work/other", "", "/work/pi"}) {
    temp.replace(kFolder, kName, cwd.empty() ? "" : TempStore::header("aaaa000011112222", cwd) + "\n");
    expect_ok(session->refresh(Depth::index));
    catalog.rescan();
    ASSERT_EQ(catalog.view()->projects.size(), 1U);
    EXPECT_EQ(catalog.view()->projects.front()->cwd, cwd);
  }
}

TEST_F(SessionTest, F13NonLogsHideNoLog) {
  temp.write(kFolder, kName, TempStore::two_entries());
  temp.write(kFolder, "empty", "");
  std::filesystem::create_directory(temp.log(kFolder, "folder"));
  std::filesystem::create_symlink("/nonexistent", temp.log(kFolder, "dangling"));
  ASSERT_EQ(::mkfifo(temp.log(kFolder, "fifo").c_str(), 0600), 0);
  catalog.rescan();
  EXPECT_EQ(catalog.view()->by_id.size(), 2U);
}

TEST_F(SessionTest, FoundByIdPrefixStemPathAndLatest) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  for (const std::string& spelled : {std::string("aaaa"), std::string(kName), temp.log(kFolder, kName).string(),
                                     std::string("latest"), "/mnt/projects/work-pi/" + std::string(kName)}) {
    auto found = catalog.find(spelled);
    ASSERT_TRUE(found) << spelled << ": " << found.error().message;
    EXPECT_EQ((*found)->number(), session->number());
  }
  EXPECT_FALSE(catalog.find("bbbb"));
}

TEST_F(SessionTest, TitleSlotRewrittenInPlaceChangesTheRawGenerationOnly) {
  const std::string slot(R"({"type":"title","v":1,"title":"Old","updatedAt":"2026-02-16T10:20:30.000Z","pad":")");
  const auto line = [&](const std::string& title) {
    std::string text = slot;
    text.replace(text.find("Old"), 3, title);
    text += std::string(253 - text.size(), ' ') + "\"}\n";
    return text;
  };
  temp.write(kFolder, kName, line("Old") + TempStore::two_entries());
  const auto session = only();
  EXPECT_EQ(session->title(), "Old");
  expect_ok(session->refresh(Depth::index));
  const auto generation = session->read()->generation();
  const auto raw = session->read()->raw_generation();
  const auto bytes = session->raw()->bytes;
  auto old_raw = make_view(*session, *find_view("raw.jsonl"), 0, catalog);
  ASSERT_TRUE(old_raw);
  std::fstream(temp.log(kFolder, kName), std::ios::in | std::ios::out) << line("New");
  expect_ok(session->refresh(Depth::index));
  EXPECT_EQ(session->title(), "New");
  EXPECT_EQ(session->read()->generation(), generation);
  EXPECT_NE(session->read()->raw_generation(), raw);
  EXPECT_EQ(session->raw()->bytes, bytes);
  EXPECT_EQ(*old_raw->content->read_all(), line("Old") + TempStore::two_entries());
  EXPECT_EQ(bytes_of(session, *find_view("raw.jsonl"), 0, catalog), line("New") + TempStore::two_entries());
}

TEST_F(SessionTest, EveryViewHasItsReportedSize) {
  temp.write(kFolder, kName, TempStore::two_entries() + "{\"torn\n" + TempStore::user("e3", "e1", "branch") + "\n");
  const auto session = only();
  expect_ok(session->refresh(Depth::details));
  const auto expect_reported = [&](const ViewRow& row, std::uint32_t item) {
    const auto facts = view_facts(*session, row, item, catalog);
    const auto view = make_view(*session, row, item, catalog);
    ASSERT_TRUE(facts && view) << row.name;
    const auto bytes = view->content->read_all();
    ASSERT_TRUE(bytes) << row.name;
    EXPECT_EQ(facts->size, bytes->size()) << row.name;
    EXPECT_EQ(view->content->size(), bytes->size()) << row.name;
  };
  for (const ViewRow& row : session_views()) {
    if (has_view(*session, row)) {
      expect_reported(row, 0);
    } else {
      EXPECT_EQ(make_view(*session, row, 0, catalog).error().code, Errc::not_found) << row.name;
    }
  }
  for (const ViewRow* row : {&item_views::entry_json, &item_views::entry_text, &item_views::branch_context,
                             &item_views::branch_transcript}) {
    expect_reported(*row, 2);
  }
  expect_reported(item_views::damage, 0);
  expect_reported(item_views::damage_tail, 0);
  EXPECT_FALSE(make_view(*session, item_views::image, 0, catalog));
}

class WatcherTest : public SessionTest, public ::testing::WithParamInterface<Watcher::Mode> {};

TEST_P(WatcherTest, ExistingSessionsAreFoundAtStart) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const Watcher watcher(catalog, GetParam());
  EXPECT_EQ(catalog.view()->by_id.size(), 1U);
}

TEST_P(WatcherTest, ForeignChangesReachTheFeed) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const Watcher watcher(catalog, GetParam());
  const auto wait_for = [&](Change::Kind kind, std::uint64_t after) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      const auto changes = catalog.feed().after(after, 100);
      if (std::any_of(changes.begin(), changes.end(), [&](const Change& change) { return change.kind == kind; })) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  };
  auto mark = catalog.feed().last_sequence();
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  EXPECT_TRUE(wait_for(Change::Kind::session_touched, mark));
  mark = catalog.feed().last_sequence();
  temp.write("-new-project", "y_1", TempStore::header("9", "/new") + "\n");
  EXPECT_TRUE(wait_for(Change::Kind::session_added, mark));
  mark = catalog.feed().last_sequence();
  std::filesystem::remove(temp.log("-new-project", "y_1"));
  EXPECT_TRUE(wait_for(Change::Kind::session_removed, mark));
}

TEST_F(SessionTest, UnchangedShortLogKeepsItsGeneration) {
  for (const std::string_view bytes : {"", "\r", "not JSON", "{\"type\":"}) {
    temp.write(kFolder, kName, bytes);
    const auto later =
        std::filesystem::file_time_type::clock::now() + std::chrono::milliseconds(1900);  // young until then
    std::filesystem::last_write_time(temp.log(kFolder, kName), later);
    const auto session = only();
    ASSERT_TRUE(session->refresh(Depth::index));
    const auto generation = session->read()->generation();
    for (const Depth depth : {Depth::index, Depth::head, Depth::details, Depth::raw, Depth::index}) {
      EXPECT_TRUE(session->refresh(depth));
      EXPECT_EQ(session->read()->generation(), generation) << bytes;
    }
    temp.write(kFolder, kName, std::string(bytes.size(), 'x'));
    std::filesystem::last_write_time(temp.log(kFolder, kName), later);
    EXPECT_TRUE(session->refresh(Depth::index));
    EXPECT_EQ(session->read()->generation() == generation, bytes.empty()) << "other bytes behind the same stat";
  }
}

TEST_P(WatcherTest, EventsAfterAnOwnWriteAreDelayed) {
  temp.write(kFolder, kName, TempStore::two_entries());
  const auto session = only();
  const Watcher watcher(catalog, GetParam());
  const auto news_after = [&](std::uint64_t seen) {
    std::vector<Change> news;
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
         news.empty() && std::chrono::steady_clock::now() < end;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      news = catalog.feed().after(seen, 100);
    }
    return news;
  };
  auto seen = catalog.feed().last_sequence();
  temp.append(kFolder, kName, TempStore::user("e3", "e2", "three") + "\n");
  ASSERT_FALSE(news_after(seen).empty()) << "the watcher has taken its first look";
  seen = catalog.feed().last_sequence();
  const auto written = std::chrono::system_clock::now();
  session->note_own_write();
  temp.append(kFolder, kName, TempStore::user("e4", "e3", "four") + "\n");
  const std::vector<Change> news = news_after(seen);
  ASSERT_FALSE(news.empty());
  const auto when = std::chrono::duration_cast<std::chrono::milliseconds>(written.time_since_epoch()).count();
  EXPECT_GE(news.front().time_ms, when + (GetParam() == Watcher::Mode::inotify ? 10 : 0));
}

INSTANTIATE_TEST_SUITE_P(Modes, WatcherTest, ::testing::Values(Watcher::Mode::inotify, Watcher::Mode::poll_only),
                         [](const auto& mode) {
                           return mode.param == Watcher::Mode::inotify ? "Inotify" : "PollOnly";
                         });

}  // namespace
}  // namespace arborfs
