// The Writer's changes to logs, in files and in memory alike.

#include "core/write/writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "core/base/clock.h"
#include "core/formats/omp/edit/editor.h"
#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/edit/new_log.h"
#include "core/formats/omp/log/dialect.h"
#include "core/log/log_reader.h"
#include "core/session/liveness.h"
#include "tests/support/stage.h"
#include "tests/support/stand_in.h"

namespace arborfs {
namespace {

using testing::Stage;
using testing::Storage;
using testing::TempStore;

class WriterTest : public ::testing::TestWithParam<Storage> {
 protected:
  Stage stage_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Storages, WriterTest, ::testing::Values(Storage::files, Storage::memory),
                         testing::storage_name);

TEST_P(WriterTest, AppendsAtTheLeafAreShown) {
  const auto session = stage_.add_small();
  const std::string before = stage_.bytes(session);
  const auto written = stage_.writer().append(session, Stage::text("three\n"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "aaaa0002");
  const std::string after = stage_.bytes(session);
  ASSERT_TRUE(after.starts_with(before));
  const std::string line = after.substr(before.size());
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(Stage::field(line, "id"), written->id);
  EXPECT_EQ(Stage::field(line, "parentId"), "aaaa0002");
  EXPECT_NE(line.find(R"("message":{"role":"user","content":[{"type":"text","text":"three"}])"), std::string::npos);
  EXPECT_EQ(Stage::leaf(session), 3U);
}

TEST_P(WriterTest, BranchAtAnEntryWithANumericIdSucceeds) {
  const auto session =
      stage_.add("2026-02-16T10-20-30-000Z_s1",
                 TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n" +
                     R"({"type":"message","id":7,"parentId":"aaaa0001","timestamp":"2026-02-16T10:20:31.000Z",)"
                     R"("message":{"role":"user","content":"two","timestamp":1771237231000}})" +
                     "\n" + TempStore::user("aaaa0003", "aaaa0001", "three") + "\n");
  const auto moved = stage_.writer().branch(session, "#2", "Tried X");
  ASSERT_TRUE(moved) << moved.error().message;
  const std::string line = stage_.lines(session).back();
  EXPECT_NE(line.find(R"("parentId":7,)"), std::string::npos) << line;
  EXPECT_EQ(Stage::leaf_id(session), moved->summary_id);
}

TEST_P(WriterTest, MovedLeafIsMovedBackUnlessMovedAgain) {
  const auto session = stage_.add_small();
  const auto first = stage_.writer().branch(session, "root");
  ASSERT_TRUE(first && first->move);
  const auto second = stage_.writer().branch(session, "aaaa0001");
  ASSERT_TRUE(second && second->move);
  EXPECT_TRUE(stage_.writer().move_back(session, *first->move));
  EXPECT_EQ(Stage::leaf_id(session), "aaaa0001");
  EXPECT_TRUE(stage_.writer().move_back(session, *second->move));
  EXPECT_EQ(Stage::leaf_id(session), "root");
  EXPECT_TRUE(stage_.writer().move_back(session, *first->move));
  EXPECT_EQ(Stage::leaf_id(session), "aaaa0002");
}

TEST_P(WriterTest, AppendAtAnotherEntryMovesTheLeaf) {
  const auto session = stage_.add_small();
  const auto written = stage_.writer().append(session, Stage::text("other way"), "#1");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "aaaa0001");
  EXPECT_EQ(Stage::leaf_id(session), written->id);
}

TEST_P(WriterTest, AppendAtTheRootHasNoParent) {
  const auto session = stage_.add_small();
  const auto written = stage_.writer().append(session, Stage::text("anew"), "root");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "");
  EXPECT_NE(stage_.lines(session).back().find("\"parentId\":null"), std::string::npos);
}

TEST_P(WriterTest, MovedLeafHoldsUntilTheNextAppend) {
  const auto session = stage_.add_small();
  const std::string before = stage_.bytes(session);
  ASSERT_TRUE(stage_.writer().branch(session, "aaaa0001"));
  EXPECT_EQ(Stage::leaf_id(session), "aaaa0001");
  EXPECT_EQ(stage_.bytes(session), before);
  ASSERT_TRUE(stage_.writer().append(session, Stage::text("second way")));
  EXPECT_EQ(Stage::field(stage_.lines(session).back(), "parentId"), "aaaa0001");
  EXPECT_EQ(Stage::leaf(session), 3U);
}

TEST_P(WriterTest, LeafMayBeTheRoot) {
  const auto session = stage_.add_small();
  const auto moved = stage_.writer().branch(session, "root");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->leaf, "root");
  EXPECT_EQ(Stage::leaf(session), kNoEntry);
  ASSERT_TRUE(stage_.writer().append(session, Stage::text("anew")));
  EXPECT_NE(stage_.lines(session).back().find("\"parentId\":null"), std::string::npos);
}

TEST_P(WriterTest, BranchSummaryIsWrittenToTheLog) {
  const auto session = stage_.add_small();
  const auto moved = stage_.writer().branch(session, "aaaa0001", "Tried X\nfailed");
  ASSERT_TRUE(moved) << moved.error().message;
  const std::string line = stage_.lines(session).back();
  EXPECT_EQ(Stage::field(line, "type"), "branch_summary");
  EXPECT_EQ(Stage::field(line, "fromId"), "aaaa0001");
  EXPECT_EQ(Stage::field(line, "summary"), "Tried X\nfailed");
  EXPECT_EQ(Stage::leaf_id(session), moved->summary_id);
}

TEST_P(WriterTest, LabelsAreSetAndClearedAtomically) {
  const auto session = stage_.add_small();
  ASSERT_TRUE(stage_.writer().label(session, {{"aaaa0001", "start"}, {"#2", "goal"}}));
  {
    const auto guard = session->read();
    ASSERT_EQ(guard->index().labels().size(), 2U);
  }
  const std::string before = stage_.bytes(session);
  EXPECT_EQ(stage_.writer().label(session, {{"start", ""}, {"nobody", "x"}}).error().code, Errc::not_found);
  EXPECT_EQ(stage_.bytes(session), before);
  ASSERT_TRUE(stage_.writer().label(session, {{"start", ""}}));
  const auto guard = session->read();
  ASSERT_EQ(guard->index().labels().size(), 1U);
  EXPECT_EQ(guard->index().labels()[0].text, "goal");
}

TEST_P(WriterTest, TitleWithoutSlotChangesOnlyTheHeader) {
  const auto session = stage_.add("2026-02-16T10-20-30-000Z_s1",
                                  R"({"type":"session","version":3,"id":"s1","x":1e2,"timestamp":"t","cwd":"/work/pi"})"
                                  "\n" +
                                      TempStore::user("aaaa0001", "", "one") + "\n{torn");
  const auto title = stage_.writer().set_title(session, "A\tnew  \"title\"\n");
  ASSERT_TRUE(title) << title.error().message;
  EXPECT_EQ(*title, "A new \"title\"");
  EXPECT_EQ(
      stage_.bytes(session),
      R"({"type":"session","version":3,"id":"s1","x":1e2,"timestamp":"t","cwd":"/work/pi","title":"A new \"title\""})"
      "\n" +
          TempStore::user("aaaa0001", "", "one") + "\n{torn");
  EXPECT_EQ(session->title(), "A new \"title\"");
}

TEST_P(WriterTest, TitleSlotIsWrittenInPlace) {
  const std::string slot = omp::title_slot_line("First", "user", 1771237231000);
  const auto session = stage_.add("2026-02-16T10-20-30-000Z_s1", slot + TempStore::header("s1", "/work/pi") + "\n" +
                                                                     TempStore::user("aaaa0001", "", "one") + "\n");
  const std::string before = stage_.bytes(session);
  ASSERT_TRUE(stage_.writer().set_title(session, "Second"));
  const std::string after = stage_.bytes(session);
  EXPECT_NE(after.substr(0, 256), before.substr(0, 256));
  EXPECT_EQ(after.substr(256, before.size() - 256), before.substr(256));
  EXPECT_EQ(Stage::field(after.substr(0, 256), "title"), "Second");
  const std::string line = stage_.lines(session).back();
  EXPECT_EQ(Stage::field(line, "type"), "title_change");
  EXPECT_EQ(Stage::field(line, "previousTitle"), "First");
  EXPECT_EQ(session->title(), "Second");
}

TEST_P(WriterTest, ForksLeaveTheSourceUnchanged) {
  const auto session = stage_.add_small();
  ASSERT_TRUE(stage_.writer().label(session, {{"aaaa0001", "start"}}));
  ASSERT_TRUE(stage_.writer().append(session, Stage::text("on the label")));
  const std::string before = stage_.bytes(session);
  const auto whole = stage_.writer().fork(session);
  ASSERT_TRUE(whole) << whole.error().message;
  auto lines = stage_.lines(whole->session);
  const auto source = stage_.lines(session);
  ASSERT_EQ(lines.size(), source.size());
  EXPECT_EQ(Stage::field(lines[0], "parentSession"), "s1");
  EXPECT_TRUE(std::equal(lines.begin() + 1, lines.end(), source.begin() + 1));

  const auto path = stage_.writer().fork(session, "#4");
  ASSERT_TRUE(path) << path.error().message;
  lines = stage_.lines(path->session);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[1], source[1]);
  EXPECT_EQ(lines[2], source[2]);
  EXPECT_EQ(Stage::field(lines[3], "parentId"), "aaaa0002") << "relinked past the label";
  EXPECT_EQ(Stage::field(lines[4], "type"), "label");
  EXPECT_EQ(Stage::field(lines[4], "targetId"), "aaaa0001");
  EXPECT_EQ(Stage::field(lines[4], "parentId"), Stage::field(lines[3], "id"));
  EXPECT_EQ(stage_.bytes(session), before);
}

TEST_P(WriterTest, NewSessionsGetTheirFolderAndHeader) {
  const auto made = stage_.writer().create({"/work/pi", "A title", "parent", "anthropic/claude"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->session->place().folder, "--work-pi--");
  const auto lines = stage_.lines(made->session);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(Stage::field(lines[0], "cwd"), "/work/pi");
  EXPECT_EQ(Stage::field(lines[0], "title"), "A title");
  EXPECT_EQ(Stage::field(lines[0], "parentSession"), "parent");
  EXPECT_EQ(Stage::field(lines[1], "model"), "anthropic/claude");
  EXPECT_EQ(made->path, "projects/work-pi/" + made->session->stem());
  EXPECT_EQ(stage_.writer().create({"relative", "", "", ""}).error().code, Errc::invalid_argument);
}

TEST_P(WriterTest, MoveTakesTheSessionToAnotherProject) {
  const auto session = stage_.add_small();
  const auto entries = stage_.lines(session);
  const auto moved = stage_.writer().move(session, "/work/other");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->path, "projects/work-other/" + session->stem());
  EXPECT_EQ(session->place().folder, "--work-other--");
  const auto lines = stage_.lines(session);
  EXPECT_EQ(Stage::field(lines[0], "cwd"), "/work/other");
  EXPECT_TRUE(std::equal(lines.begin() + 1, lines.end(), entries.begin() + 1, entries.end()));
  ASSERT_TRUE(stage_.writer().append(session, Stage::text("goes on")));
  stage_.catalog().rescan();
  EXPECT_EQ(stage_.catalog().view()->by_id.size(), 1U);
}

TEST_P(WriterTest, FirstWriteMigratesOldVersions) {
  const std::string header = R"({"type":"session","id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work/pi"})";
  const auto session =
      stage_.add("2026-02-16T10-20-30-000Z_s1",
                 header + "\n" + R"({"type":"message","timestamp":"t","message":{"role":"user"}})" + "\nnot json\n" +
                     R"({"type":"message","timestamp":"t","message":{"role":"hookMessage"}})");
  const auto first = session->refresh(Depth::index);
  ASSERT_TRUE(first);
  const std::string shown = session->read()->index().id(2).text;
  ASSERT_TRUE(stage_.writer().append(session, Stage::text("three")));
  const auto lines = stage_.lines(session);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_NE(lines[0].find("\"version\":3"), std::string::npos);
  EXPECT_EQ(lines[2], "not json");
  EXPECT_EQ(Stage::field(lines[3], "id"), shown);
  EXPECT_NE(lines[3].find("\"role\":\"custom\""), std::string::npos);
  EXPECT_EQ(Stage::field(lines[4], "parentId"), shown);
}

TEST_P(WriterTest, F1TornTailsAreTerminatedBeforeAnAppend) {
  for (const std::string tail : {"{\"type\":\"message\",\"id\":\"t\",\"par", "{\"k\":", "[", "[1,", "\"open", "tru",
                                 "{\"type\":\"custom\",\"id\":\"whole\",\"parentId\":\"aaaa0001\"}", "[\n"}) {
    const auto session =
        stage_.add("2026-02-16T10-20-30-000Z_s1",
                   TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n" + tail);
    const std::string before = stage_.bytes(session);
    const auto written = stage_.writer().append(session, Stage::text("after"));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_TRUE(stage_.bytes(session).starts_with(before));
    const auto guard = session->read();
    EXPECT_NE(guard->index().find(written->id), kNoEntry) << tail;
    EXPECT_EQ(written->parent_id, tail.find("whole") == std::string::npos ? "aaaa0001" : "whole");
  }
}

TEST_P(WriterTest, ConditionsAreCheckedUnderTheLock) {
  const auto session = stage_.add_small();
  auto command = Stage::text("x");
  command.if_leaf = "aaaa0001";
  EXPECT_EQ(stage_.writer().append(session, std::move(command)).error().code, Errc::stale);
  command = Stage::text("x");
  command.if_leaf = "aaaa0002";
  EXPECT_TRUE(stage_.writer().append(session, std::move(command)));
}

TEST_P(WriterTest, F3F25UnknownVersionsAndBadHeadersAreNeverWritten) {
  const auto future = stage_.add("2026-02-16T10-20-30-000Z_s4",
                                 R"({"type":"session","version":4,"id":"s4","timestamp":"t","cwd":"/work/pi"})"
                                 "\n");
  const auto headless = stage_.add("2026-02-16T10-20-30-000Z_s5", TempStore::user("aaaa0001", "", "one") + "\n");
  for (const auto& session : {future, headless}) {
    const std::string before = stage_.bytes(session);
    EXPECT_EQ(stage_.writer().append(session, Stage::text("x")).error().code, Errc::read_only);
    EXPECT_EQ(stage_.writer().set_title(session, "x").error().code, Errc::read_only);
    EXPECT_EQ(stage_.writer().branch(session, "root").error().code, Errc::read_only);
    EXPECT_EQ(stage_.writer().fork(session).error().code, Errc::read_only);
    EXPECT_EQ(stage_.writer().check(session).error().code, Errc::read_only);
    EXPECT_EQ(stage_.bytes(session), before);
  }
}

TEST_P(WriterTest, F27BranchesDoNotEndInOpenToolCalls) {
  const auto session = stage_.add(
      "2026-02-16T10-20-30-000Z_s1",
      TempStore::header("s1", "/work/pi") + "\n" + TempStore::user("aaaa0001", "", "one") + "\n" +
          R"({"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"t","message":{"role":"assistant",)"
          R"("content":[{"type":"toolCall","id":"c1"},{"type":"toolCall","id":"c2"}]}})"
          "\n"
          R"({"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"t","message":{"role":"toolResult","toolCallId":"c1"}})"
          "\n"
          R"({"type":"message","id":"aaaa0004","parentId":"aaaa0003","timestamp":"t","message":{"role":"toolResult","toolCallId":"c2"}})"
          "\n");
  EXPECT_EQ(stage_.writer().branch(session, "aaaa0002").error().code, Errc::invalid_argument);
  EXPECT_EQ(stage_.writer().branch(session, "aaaa0003").error().code, Errc::invalid_argument);
  EXPECT_EQ(stage_.writer().fork(session, "aaaa0003").error().code, Errc::invalid_argument);
  EXPECT_TRUE(stage_.writer().branch(session, "aaaa0004"));
  EXPECT_TRUE(stage_.writer().branch(session, "aaaa0003", "", true));
}

TEST_P(WriterTest, ConcurrentAppendsFormOneChain) {
  const auto session = stage_.add_small();
  constexpr int kWriters = 8;
  constexpr int kAppends = 50;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&] {
      for (int i = 0; i < kAppends; ++i) {
        failed += stage_.writer().append(session, Stage::text("x")) ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failed, 0);
  const auto lines = stage_.lines(session);
  ASSERT_EQ(lines.size(), 3U + kWriters * kAppends);
  for (std::size_t i = 2; i < lines.size(); ++i) {
    EXPECT_EQ(Stage::field(lines[i], "parentId"), Stage::field(lines[i - 1], "id"));
  }
}

TEST(WriterOnDisk, MovedLeafSurvivesARestart) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  const LogPlace place = session->place();
  ASSERT_TRUE(stage.writer().branch(session, "aaaa0001"));
  stage.restart();
  const auto again = stage.catalog().at(place);
  EXPECT_EQ(Stage::leaf_id(again), "aaaa0001");
  stage.temp().append("-work", "2026-02-16T10-20-30-000Z_s1",
                      TempStore::user("aaaa0009", "aaaa0002", "foreign") + "\n");
  EXPECT_EQ(Stage::leaf_id(again), "aaaa0009");
}

TEST(WriterOnDisk, RemovedSessionsGoToTheTrash) {
  WriteSettings settings;
  settings.allow_delete = true;
  Stage stage(Storage::files, Disk::real(), settings);
  const auto session = stage.add_small();
  const auto log = stage.temp().log("-work", session->stem());
  std::filesystem::create_directories(log.parent_path() / session->stem());
  std::ofstream(log.parent_path() / session->stem() / "1.bash.log") << "out";
  const std::string before = stage.bytes(session);
  ASSERT_TRUE(stage.writer().remove(session));
  EXPECT_FALSE(std::filesystem::exists(log));
  EXPECT_TRUE(stage.catalog().view()->by_id.empty());
}

TEST(WriterOnDisk, DamagedSessionsThatCanBeRemovedArePrunedToo) {
  WriteSettings settings;
  settings.allow_delete = true;
  Stage stage(Storage::files, Disk::real(), settings);
  const auto session = stage.add("2026-02-16T10-20-30-000Z_s2", "no header\n");
  ASSERT_TRUE(session);
  EXPECT_FALSE(stage.writer().check(session)) << "nothing is appended to it";
  const auto may = stage.writer().check_remove(session);
  EXPECT_TRUE(may) << may.error().message;
  EXPECT_TRUE(stage.writer().remove(session));
}

/// How many read calls this process has made so far; nullopt if the kernel does not count them.
std::optional<long> reads_so_far() {
  std::ifstream io("/proc/self/io");
  std::string key;
  for (long value = 0; io >> key >> value;) {
    if (key == "syscr:") {
      return value;
    }
  }
  return std::nullopt;
}

/// Waits until the log is old enough that a refresh no longer compares it with its earlier content.
void wait_until_trusted(Session& session) {
  while (now_ns() - session.mtime_ns() < kRacyNanos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(session.refresh(Depth::index));
}

/// How many reads one append takes to a log of this many entries, after a first append.
long reads_of_append(std::size_t entries) {
  Stage stage(Storage::files);
  std::string log = TempStore::header("s1", "/work/pi") + "\n";
  for (std::size_t i = 0; i < entries; ++i) {
    const std::string id = std::to_string(10'000'000 + i);
    log += TempStore::user(id, i == 0 ? "" : std::to_string(10'000'000 + i - 1), "words") + "\n";
  }
  const auto session = stage.add("2026-02-16T10-20-30-000Z_s1", log);
  EXPECT_TRUE(stage.writer().append(session, Stage::text("first")));
  wait_until_trusted(*session);
  const auto before = reads_so_far();
  EXPECT_TRUE(stage.writer().append(session, Stage::text("second", true)))
      << "not looking for agents, of which all read";
  return before ? *reads_so_far() - *before : 0;
}

TEST(WriterOnDisk, AppendReadsLittleOfALongLog) {
  const long few = reads_of_append(3);
  EXPECT_LE(few, 12);
  EXPECT_LE(reads_of_append(5'000), few);
}

/// The real disk, with a count of its syncs.
class SyncCounter : public Disk {
 public:
  Result<void> sync(int fd) override {
    ++syncs;
    return Disk::sync(fd);
  }
  Result<void> sync_folder(const Dir& folder) override {
    ++syncs;
    return Disk::sync_folder(folder);
  }
  unsigned syncs = 0;
};

/// How often each kind of write to a session waits for the disk.
std::vector<unsigned> syncs_of_writes(Durability durability) {
  SyncCounter disk;
  WriteSettings settings;
  settings.durability = durability;
  Stage stage(Storage::files, disk, settings);
  const auto session = stage.add_small();
  const std::string data(16 * 1024, 'A');
  auto image = omp::json_command(
      R"({"role":"user","content":[{"type":"image","mimeType":"image/png","data":")" + data + R"("}]})",
      omp::Dialect::omp13, 1771237231000);
  EXPECT_TRUE(image && image->drafts.at(0).blobs.size() == 1);
  std::vector<unsigned> counts;
  const auto count = [&](bool is_done) {
    EXPECT_TRUE(is_done);
    counts.push_back(std::exchange(disk.syncs, 0));
  };
  disk.syncs = 0;
  count(stage.writer().append(session, Stage::text("three")).has_value());
  count(stage.writer().append(session, std::move(*image)).has_value());
  count(stage.writer().branch(session, "aaaa0001").has_value());
  count(stage.writer().branch(session, "aaaa0002", "tried").has_value());
  count(stage.writer().label(session, {{"aaaa0001", "here"}}).has_value());
  count(stage.writer().set_title(session, "A title").has_value());
  return counts;
}

TEST(WriterOnDisk, DurabilityNoneNeverSyncs) {
  for (const unsigned syncs : syncs_of_writes(Durability::none)) {
    EXPECT_EQ(syncs, 0U);
  }
  for (const unsigned syncs : syncs_of_writes(Durability::synced)) {
    EXPECT_GT(syncs, 0U);
  }
}

TEST(WriterOnDisk, ReservationBeyondTheFreeSpaceIsRefused) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  constexpr std::uint64_t kMoreThanThereIs = std::uint64_t{1} << 62;
  const auto refused = stage.writer().reserve(session, kMoreThanThereIs);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().code == Errc::no_space || refused.error().code == Errc::too_large);
  EXPECT_TRUE(stage.writer().reserve(session, 4096));
  Stage memory(Storage::memory);
  EXPECT_TRUE(memory.writer().reserve(memory.add_small(), kMoreThanThereIs)) << "there is no disk to be full";
}

/// A disk that is full as long as somebody has reserved space on it.
class FullDisk : public Disk {
 public:
  Result<UniqueFd> reserve(const Dir& folder, std::uint64_t bytes) override {
    auto file = Disk::reserve(folder, bytes);
    descriptor_ = file ? file->get() : -1;
    file_ = file_at(descriptor_);
    return file;
  }
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    const bool is_full = is_nearly_full && file_ != 0 && file_at(descriptor_) == file_;
    return is_full ? error_from_errno(ENOSPC, "write") : Disk::write(fd, bytes);
  }
  bool is_nearly_full = false;

 private:
  static ino_t file_at(int descriptor) {
    struct stat st {};
    return ::fstat(descriptor, &st) == 0 ? st.st_ino : 0;
  }
  int descriptor_ = -1;
  ino_t file_ = 0;  // 0: none is reserved
};

TEST(WriterOnDisk, AppendOnAFullDiskGetsTheRoomThatWasReservedForIt) {
  FullDisk disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small();
  disk.is_nearly_full = true;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stage.writer().reserve(session, 4096));
    const auto done = stage.writer().append(session, Stage::text("three"));
    ASSERT_TRUE(done) << done.error().message;
  }
}

TEST(WriterOnDisk, WritesToARemovedLogFail) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  ASSERT_TRUE(std::filesystem::remove(stage.temp().log("-work", "2026-02-16T10-20-30-000Z_s1")));
  EXPECT_EQ(stage.writer().append(session, Stage::text("three")).error().code, Errc::not_found);
  EXPECT_EQ(stage.writer().check(session).error().code, Errc::not_found);
  EXPECT_EQ(stage.writer().rewrite(session).error().code, Errc::not_found);
}

/// A disk with room for a few lines at a time, which records whether more was asked for.
class NarrowDisk : public Disk {
 public:
  static constexpr std::size_t kRoom = 400;
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    if (is_narrow && bytes.size() > kRoom) {
      was_asked_for_more = true;
      return error_from_errno(ENOSPC, "write");
    }
    return Disk::write(fd, bytes);
  }
  std::atomic<bool> is_narrow{false};
  std::atomic<bool> was_asked_for_more{false};
};

TEST(WriterOnDisk, BatchWithoutDiskSpaceIsWrittenOneByOne) {
  NarrowDisk disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small();
  disk.is_narrow = true;
  constexpr std::size_t kWriters = 8;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::atomic<std::size_t> written{0};
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      do {
        const auto done = stage.writer().append(session, Stage::text("one of many"));
        EXPECT_TRUE(done) << done.error().message;
        ++written;
      } while (!disk.was_asked_for_more && std::chrono::steady_clock::now() < deadline);
    });
  }
  for (auto& writer : writers) {
    writer.join();
  }
  EXPECT_TRUE(disk.was_asked_for_more) << "no two commands were ever written together";
  EXPECT_EQ(stage.lines(session).size(), 3 + written);
}

/// An omp without a terminal, in a folder, for the stage's agent dir.
testing::StandInLook omp_in(const Stage& stage, const std::string& folder) {
  testing::StandInLook look;
  look.path = stage.temp().root() + "/bin/omp";
  look.cwd = folder;
  look.environment = {{"PI_CODING_AGENT_DIR", stage.temp().root()}};
  return look;
}

TEST(WriterOnDisk, WriteIsRefusedOnlyWhileAnAgentMayHoldTheSession) {
  Stage stage(Storage::files);
  const std::string cwd = stage.temp().root() + "/work";
  std::filesystem::create_directories(cwd);
  const auto session = stage.add("2026-02-16T10-20-30-000Z_s1",
                                 TempStore::header("s1", cwd) + "\n" + TempStore::user("aaaa0001", "", "one") + "\n");
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(stage.writer().append(session, Stage::text("before")));
    const testing::StandIn omp(omp_in(stage, cwd));
    std::this_thread::sleep_for(Committer::kLookServes);
    const auto refused = stage.writer().append(session, Stage::text("while"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::busy);
    const std::string wanted = "omp (process " + std::to_string(omp.pid()) + ") runs in its working directory";
    EXPECT_NE(refused.error().message.find(wanted), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find("arborfs fork s1"), std::string::npos) << refused.error().message;
    EXPECT_TRUE(stage.writer().append(session, Stage::text("forced", true)));
    omp.end(SIGTERM);
    const auto written = stage.writer().append(session, Stage::text("after"));
    EXPECT_TRUE(written) << written.error().message;
  }
}

TEST(WriterOnDisk, RunningAgentDoesNotBlockForksAndNewSessions) {
  Stage stage(Storage::files);
  const std::string cwd = stage.temp().root() + "/work";
  std::filesystem::create_directories(cwd);
  const auto session = stage.add("2026-02-16T10-20-30-000Z_s1",
                                 TempStore::header("s1", cwd) + "\n" + TempStore::user("aaaa0001", "", "one") + "\n");
  const testing::StandIn omp(omp_in(stage, cwd));
  ASSERT_TRUE(session->refresh(Depth::index));
  const auto place = omp::write_fork(stage.catalog(), *session, omp::ForkPlan{}, false);
  ASSERT_TRUE(place);
  const auto made = stage.writer().create({cwd, "", "", ""});
  ASSERT_TRUE(made);
  for (int i = 0; i < 3; ++i) {
    for (const LogPlace& one : {*place, made->session->place()}) {
      const auto written = stage.writer().append(stage.catalog().at(one), Stage::text("mine"));
      EXPECT_TRUE(written) << written.error().message;
    }
    stage.restart();
  }
  EXPECT_EQ(stage.writer().append(stage.catalog().at(session->place()), Stage::text("no")).error().code, Errc::busy);
  std::ofstream(stage.temp().sessions() / place->folder / place->file, std::ios::app)
      << TempStore::user("bbbb0001", "", "of the agent") << "\n";
  EXPECT_EQ(stage.writer().append(stage.catalog().at(*place), Stage::text("no")).error().code, Errc::busy);
}

TEST(WriterOnDisk, OwnWritesAreNotAttributedToAnAgentElsewhere) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  std::filesystem::last_write_time(stage.temp().sessions() / "-work" / session->place().file,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const testing::StandIn omp(omp_in(stage, "/"));
  for (int i = 0; i < 3; ++i) {
    const auto written = stage.writer().append(stage.catalog().at(session->place()), Stage::text("mine"));
    EXPECT_TRUE(written) << written.error().message;
    EXPECT_TRUE(stage.writer().set_title(stage.catalog().at(session->place()), "title " + std::to_string(i)));
    stage.restart();
  }
}

TEST(WriterOnDisk, RemovalMustBeAllowed) {
  Stage stage(Storage::files);
  EXPECT_EQ(stage.writer().remove(stage.add_small()).error().code, Errc::not_permitted);
}

TEST(WriterOnDisk, StaleLockWithOurProcessIdIsTakenOver) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  const auto lock = stage.temp().sessions() / "-work" / ("." + session->place().file + ".lock");
  std::ofstream(lock) << ::getpid() << ":1771237231000\n";
  EXPECT_TRUE(stage.writer().append(session, Stage::text("x")));
  EXPECT_FALSE(std::filesystem::exists(lock));
}

/// A disk from which no file can be removed.
class ClingingDisk : public Disk {
 public:
  Result<void> remove(const Dir& folder, const std::string& name) override {
    return clings ? error_from_errno(EIO, "remove") : Disk::remove(folder, name);
  }
  bool clings = false;
};

TEST(WriterOnDisk, UndeletableOwnLockFileIsNotAForeignLock) {
  ClingingDisk disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small();
  disk.clings = true;
  EXPECT_TRUE(stage.writer().append(session, Stage::text("three")));
  EXPECT_EQ(stage.writer().append(session, Stage::text("four")).error().code, Errc::io);
  disk.clings = false;
  EXPECT_TRUE(stage.writer().append(session, Stage::text("five")));
}

TEST(WriterOnDisk, LivenessChecksDoNotDisturbWriters) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  std::signal(SIGIO, SIG_IGN);  // the holder of a lease gets it when a writer opens the file
  std::atomic<bool> stop{false};
  std::thread looker([&] {
    while (!stop) {
      check_liveness(*session, stage.catalog());
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto written = stage.writer().append(session, Stage::text("x"));
    EXPECT_TRUE(written) << written.error().message;
  }
  stop = true;
  looker.join();
}

TEST(WriterOnDisk, NonUtf8LabelsAndTitlesAreRefused) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  EXPECT_EQ(stage.writer().label(session, {{"#1", "\xff"}}).error().code, Errc::not_utf8);
  EXPECT_EQ(stage.writer().set_title(session, "\xff").error().code, Errc::not_utf8);
}

TEST(WriterOnDisk, ConcurrentTitlesAndAppendsAllSucceed) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  Stage::text("warm");
  std::thread appender([&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(stage.writer().append(session, Stage::text("x")));
    }
  });
  for (int i = 0; i < 20; ++i) {
    const auto titled = stage.writer().set_title(session, "Title " + std::to_string(i));
    EXPECT_TRUE(titled) << titled.error().message;
  }
  appender.join();
  EXPECT_EQ(stage.lines(session).size(), 53U);
}

/// A disk on which an agent without a lock overwrites the log with its old state during the sync (omp/FORMAT.md G3).
class Overwritten : public Disk {
 public:
  std::string log;
  std::uintmax_t size = 0;
  Result<void> sync(int fd) override {
    if (!log.empty()) {
      std::filesystem::resize_file(log, size);
    }
    return Disk::sync(fd);
  }
};

TEST(WriterOnDisk, OverwrittenAppendIsReportedAsFailed) {
  Overwritten disk;
  Stage stage(Storage::files, disk);
  const auto session = stage.add_small();
  const std::string before = stage.bytes(session);
  disk.size = before.size();
  disk.log = stage.temp().log("-work", session->stem()).string();
  EXPECT_EQ(stage.writer().append(session, Stage::text("x")).error().code, Errc::io);
  EXPECT_EQ(stage.bytes(session), before);
  disk.log.clear();
  EXPECT_TRUE(stage.writer().append(session, Stage::text("x")));
}

/// The changes of a stage's sessions, as omp::Writer commits them.
struct Changes {
  explicit Changes(Stage& stage)
      : editor(stage.catalog(), true,
               [this](const SessionPtr& session, LivePolicy policy) { return committer.hold(session, policy); }),
        committer(stage.catalog(), {}, editor) {}
  omp::Editor editor;
  Committer committer;
};

TEST(WriterOnDisk, ThrowingPlanDoesNotBlockTheQueue) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  Changes changes(stage);
  Command broken;
  broken.change = [](Plan&) -> Result<void> { throw std::bad_alloc(); };
  EXPECT_EQ(changes.committer.make(session, broken).error().code, Errc::io);
  Command whole;
  whole.change = [](Plan&) -> Result<void> { return Error{Errc::stale, "no"}; };
  EXPECT_EQ(changes.committer.make(session, whole).error().code, Errc::stale);
}

/// True if the thread sleeps: inside a writer's call it can then only wait for its turn.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  return line.find(") S") != std::string::npos;
}

TEST(WriterOnDisk, ForcedAppendIsNotHeldUpByAnUnforcedOne) {
  Stage stage(Storage::files);
  const auto session = stage.add("2026-02-16T10-20-30-000Z_old",
                                 "{\"type\":\"session\",\"id\":\"old\",\"timestamp\":\"2026-02-16T10:20:30.000Z\","
                                 "\"cwd\":\"/work/pi\"}\n{\"type\":\"message\",\"timestamp\":"
                                 "\"2026-02-16T10:20:31.000Z\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n");
  const std::ofstream held(stage.temp().log("-work", session->stem()), std::ios::app);
  Changes changes(stage);
  const auto draft = Stage::text("x").drafts.at(0);
  std::array<std::atomic<pid_t>, 2> threads{};
  std::array<Result<void>, 2> outcomes;
  const auto append = [&](std::size_t which, bool force) {
    Command command;
    command.policy = live_policy(force);
    command.change = change_of<omp::LogPlan>([&](omp::LogPlan& plan) -> Result<void> {
      plan.batch->add(draft);
      return {};
    });
    threads.at(which) = ::gettid();
    outcomes.at(which) = changes.committer.make(session, command);
  };
  std::thread forced;
  std::thread unforced;
  Command busy;
  busy.policy = LivePolicy::on_live;
  busy.work = [&](Held&) -> Result<void> {
    forced = std::thread(append, 0, true);
    unforced = std::thread(append, 1, false);
    while (threads[0] == 0 || threads[1] == 0 || !sleeps(threads[0]) || !sleeps(threads[1])) {
      std::this_thread::yield();
    }
    return {};
  };
  EXPECT_TRUE(changes.committer.make(session, busy));
  forced.join();
  unforced.join();
  EXPECT_TRUE(outcomes[0]) << outcomes[0].error().message;
  EXPECT_EQ(outcomes[1].error().code, Errc::busy);
}

TEST(WriterOnDisk, LiveSessionsAreRefusedUnlessForced) {
  Stage stage(Storage::files);
  const auto session = stage.add_small();
  {
    const std::ofstream held(stage.temp().log("-work", session->stem()), std::ios::app);
    EXPECT_EQ(stage.writer().append(session, Stage::text("x")).error().code, Errc::busy);
    EXPECT_EQ(stage.writer().branch(session, "aaaa0001").error().code, Errc::busy);
    EXPECT_EQ(stage.writer().set_title(session, "x").error().code, Errc::busy);
    EXPECT_EQ(stage.writer().check(session).error().code, Errc::busy);
    EXPECT_TRUE(stage.writer().fork(session));
    EXPECT_TRUE(stage.writer().append(session, Stage::text("x", true)));
  }
  EXPECT_TRUE(stage.writer().append(session, Stage::text("y")));
}

}  // namespace
}  // namespace arborfs
