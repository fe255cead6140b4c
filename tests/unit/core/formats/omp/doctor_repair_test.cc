// The doctor's repairs: only after a copy, never on live sessions, and no more than announced (CONTRACT.md 5.4, 6.11).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/formats/omp/edit/append_command.h"
#include "core/formats/omp/edit/log_faults.h"
#include "core/formats/omp/edit/repairer.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/store/log_files.h"
#include "tests/support/stage.h"
#include "tests/support/stand_in.h"

namespace arborfs::omp {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::Stage;
using testing::Storage;
using testing::TempStore;

constexpr const char* kName = "2026-02-16T10-20-30-000Z_s1";

std::string line(const std::string& json) {
  return json + "\n";
}

class DoctorRepair : public ::testing::Test {
 protected:
  SessionPtr put(const std::string& bytes, const std::string& name = kName) {
    const auto session = stage_.add(name, bytes);
    age(log(name));
    EXPECT_TRUE(session->refresh(Depth::index));
    return session;
  }
  [[nodiscard]] fs::path log(const std::string& name = kName) const { return stage_.temp().log("-work", name); }
  static void age(const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  Result<RepairResult> mend(const SessionPtr& session, bool dry_run = false, bool maybe_live = false) {
    return Repairer(stage_.writer(), {dry_run, maybe_live, copies_}).mend(session);
  }
  [[nodiscard]] std::vector<std::string> kinds(const SessionPtr& session) {
    std::vector<std::string> found;
    for (const Finding& finding : examine(*session, stage_.catalog())) {
      found.emplace_back(finding.kind);
    }
    return found;
  }

  Stage stage_{Storage::files};
  const std::string copies_ = stage_.temp().root() + "/copies";
  const std::string header_ = TempStore::header("s1", "/work/pi");
  const std::string one_ = TempStore::user("aaaa0001", "", "one");
  const std::string two_ = TempStore::user("aaaa0002", "aaaa0001", "two");
  const std::string torn_ = line(header_) + line(one_) + "{\"type\":\"mess";
};

TEST_F(DoctorRepair, IntactLogsAreLeftAlone) {
  const auto session = put(line(header_) + line(one_) + line(two_));
  const auto before = session->stat();
  const auto mended = mend(session);
  ASSERT_TRUE(mended);
  EXPECT_THAT(mended->words, IsEmpty());
  EXPECT_EQ(mended->copy, "");
  EXPECT_FALSE(fs::exists(copies_));
  EXPECT_EQ(stage_.store().stat(session->place())->ino, before.ino);
}

TEST_F(DoctorRepair, PrivateCopyOfTheOriginalIsKept) {
  const auto mended = mend(put(torn_));
  ASSERT_TRUE(mended);
  EXPECT_THAT(mended->copy, HasSubstr(std::string(kName) + ".jsonl"));
  std::ifstream copy(mended->copy);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(copy), {}), torn_);
  for (fs::path path = mended->copy; path.string().size() > stage_.temp().root().size(); path = path.parent_path()) {
    EXPECT_EQ(fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none) << path;
  }
}

TEST_F(DoctorRepair, NothingIsRepairedWithoutACopy) {
  std::ofstream(copies_) << "in the way";
  const auto session = put(torn_);
  EXPECT_FALSE(mend(session));
  EXPECT_EQ(stage_.bytes(session), torn_);
}

TEST_F(DoctorRepair, DryRunChangesNothing) {
  const auto session = put(torn_);
  const auto mended = mend(session, true);
  ASSERT_TRUE(mended);
  EXPECT_THAT(mended->words, ElementsAre(HasSubstr("cut out")));
  EXPECT_EQ(mended->copy, "");
  EXPECT_EQ(stage_.bytes(session), torn_);
}

TEST_F(DoctorRepair, LiveSessionsAreNeverRepaired) {
  const auto session = put(torn_);
  const std::ofstream held(log(), std::ios::app);
  for (const bool maybe_live : {false, true}) {
    EXPECT_EQ(mend(session, false, maybe_live).error().code, Errc::busy);
  }
  EXPECT_EQ(stage_.bytes(session), torn_);
}

TEST_F(DoctorRepair, PossiblyLiveSessionsNeedPermission) {
  const auto session = put(torn_);
  testing::StandInLook omp;
  omp.path = stage_.temp().root() + "/bin/omp";
  omp.arguments = {"--resume", log().string()};
  omp.environment = {{"PI_CODING_AGENT_DIR", stage_.temp().root()}};
  const testing::StandIn agent(omp);
  EXPECT_EQ(mend(session).error().code, Errc::busy);
  EXPECT_EQ(stage_.bytes(session), torn_);
  EXPECT_TRUE(mend(session, false, true));
  EXPECT_EQ(stage_.bytes(session), line(header_) + line(one_));
}

TEST_F(DoctorRepair, ConcurrentWritersLoseNoLine) {
  const auto session = put(torn_);
  int times = 0;
  const auto edited = stage_.writer().edit(session, [&](const Session& now) -> Result<std::vector<LogEdit>> {
    if (++times == 1) {
      std::ofstream(log(), std::ios::app) << "\n" << line(two_);  // as an agent that takes no lock
    }
    auto plan = plan_repairs(now, stage_.catalog());
    return plan ? Result<std::vector<LogEdit>>(std::move(plan->edits)) : plan.error();
  });
  EXPECT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(times, 2);
  EXPECT_EQ(stage_.bytes(session), line(header_) + line(one_) + line(two_));
}

TEST_F(DoctorRepair, UnfinishedTailOfAYoungLogIsLeftAlone) {
  for (const std::string& bytes : {torn_, line(header_) + one_}) {
    const auto session = stage_.add(kName, bytes);
    ASSERT_TRUE(session->refresh(Depth::index));
    EXPECT_THAT(kinds(session), IsEmpty());
    EXPECT_EQ(mend(session).error().code, Errc::busy);
    EXPECT_EQ(stage_.bytes(session), bytes);
  }
}

TEST_F(DoctorRepair, RecoveredRecordsAreNotDuplicated) {
  const auto session = put(line(header_) + line(one_ + two_) + line(two_));
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.bytes(session), line(header_) + line(one_) + line(two_));
}

TEST_F(DoctorRepair, LostHeaderIsRecoveredFromItsRemains) {
  const auto session = put("#" + line(header_) + line(one_));
  EXPECT_THAT(kinds(session), ElementsAre("bad_header", "malformed_line"));
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.bytes(session), line(header_) + line(one_));
  EXPECT_THAT(kinds(session), IsEmpty());
}

TEST_F(DoctorRepair, TornHeaderYieldsTheWorkingDirectory) {
  const auto session = put(line(R"({"type":"session","cwd":"/work/torn","ver)") + line(one_));
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(session->head().header.cwd, "/work/torn");
  EXPECT_EQ(session->head().header.id, "s1");
  EXPECT_EQ(session->head().header.timestamp, "2026-02-16T10:20:30.000Z");
  EXPECT_EQ(stage_.lines(session).at(1), one_);
}

TEST_F(DoctorRepair, BreadcrumbYieldsTheWorkingDirectory) {
  fs::create_directories(stage_.temp().root() + "/terminal-sessions");
  std::ofstream(stage_.temp().root() + "/terminal-sessions/tty1") << "/work/of-tty\n" << log().string() << "\n";
  const auto session = put(line(one_));
  ASSERT_TRUE(mend(session, false, true));
  EXPECT_EQ(session->head().header.cwd, "/work/of-tty");
}

TEST_F(DoctorRepair, AgreeingNeighboursYieldTheWorkingDirectory) {
  put(line(TempStore::header("s2", "/work/there")), "2026-02-17T10-20-30-000Z_s2");
  put(line(TempStore::header("s3", "/work/there")), "2026-02-18T10-20-30-000Z_s3");
  const auto session = put(line(one_));
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(session->head().header.cwd, "/work/there");
}

TEST_F(DoctorRepair, DisagreeingNeighboursYieldNoWorkingDirectory) {
  put(line(TempStore::header("s2", "/work/there")), "2026-02-17T10-20-30-000Z_s2");
  put(line(TempStore::header("s3", "/work/elsewhere")), "2026-02-18T10-20-30-000Z_s3");
  const auto session = put(line(one_), "notes");
  const auto mended = mend(session);
  ASSERT_TRUE(mended);
  EXPECT_THAT(mended->words, ElementsAre(HasSubstr("because no other is known")));
  EXPECT_EQ(session->head().header.cwd, "");
  EXPECT_EQ(session->head().header.id, "notes");
}

TEST_F(DoctorRepair, MisplacedHeaderIsMoved) {
  const auto session = put(line(one_) + line(header_) + line(two_));
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.bytes(session), line(header_) + line(one_) + line(two_));
}

TEST_F(DoctorRepair, HeaderWithoutIdGetsTheIdOfTheFileName) {
  const auto session = put(line(R"({"type":"session","version":3,"cwd":"/work/pi","extra":1})") + line(one_));
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.lines(session).at(0), R"({"type":"session","version":3,"cwd":"/work/pi","extra":1,"id":"s1"})");
}

TEST_F(DoctorRepair, EntriesWithoutIdsGetAVersion1Header) {
  const std::string entry = R"({"type":"message","timestamp":"2026-02-16T10:20:31.000Z","message":{"role":"user"}})";
  const auto session = put(line(entry) + line(entry));
  ASSERT_TRUE(mend(session));
  const auto guard = session->read();
  EXPECT_TRUE(guard->index().gives_ids());
  EXPECT_EQ(guard->index().parent(2), 1U);
}

TEST_F(DoctorRepair, NoRecordIsInsertedIntoOldVersions) {
  const std::string old = R"({"type":"session","id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work/pi"})";
  const std::string bytes = line(old) + line(one_ + two_) + line("{\"torn") + line(one_);
  const auto session = put(bytes);
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.bytes(session), line(old) + line(one_ + two_) + line(one_));
}

TEST_F(DoctorRepair, TitleSlotStaysFirst) {
  const std::string slot = std::string(R"({"type":"title","v":1,"title":"T","source":"user","updatedAt":"x","pad":")") +
                           std::string(180, ' ') + "\"}";
  const auto session = put(line(slot) + line("garbage") + line(one_));
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.lines(session).at(0), slot);
  EXPECT_EQ(session->title(), "T");
  EXPECT_THAT(kinds(session), IsEmpty());
}

TEST_F(DoctorRepair, UnknownVersionsAreNeverWritten) {
  const std::string bytes = line(R"({"type":"session","version":99,"id":"s1","cwd":"/"})") + line("{\"torn");
  const auto session = put(bytes);
  EXPECT_EQ(mend(session).error().code, Errc::read_only);
  EXPECT_EQ(stage_.bytes(session), bytes);
}

TEST_F(DoctorRepair, ErasedEntriesArePutBackBeforeTheLeaf) {
  const auto session = put(line(header_) + line(one_));
  const auto mine = stage_.writer().append(session, Stage::text("mine"));
  ASSERT_TRUE(mine);
  const std::string mine_line = stage_.lines(session).back();
  put(line(header_) + line(one_) + line(two_));
  EXPECT_THAT(kinds(session), ElementsAre("erased_entries"));
  const auto mended = mend(session);
  ASSERT_TRUE(mended);
  EXPECT_EQ(stage_.bytes(session), line(header_) + line(one_) + line(mine_line) + line(two_));
  EXPECT_EQ(Stage::leaf_id(session), "aaaa0002");
  EXPECT_THAT(kinds(session), IsEmpty());
}

TEST_F(DoctorRepair, ErasedEntriesReturnToAnEmptiedLog) {
  const auto session = put(line(header_));
  ASSERT_TRUE(stage_.writer().append(session, Stage::text("mine")));
  const std::string with = stage_.bytes(session);
  put(header_);
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.bytes(session), with);
}

TEST_F(DoctorRepair, DeadEndLeafIsRepaired) {
  const std::string exit = R"({"type":"custom","customType":"session_exit","id":"cccc0003","parentId":"aaaa0001"})";
  const std::string bytes = line(header_) + line(one_) + line(two_) + line(exit);
  const auto session = put(bytes);
  EXPECT_THAT(kinds(session), ElementsAre("dead_end_leaf"));
  EXPECT_THAT(mend(session, true)->words, SizeIs(1));
  EXPECT_EQ(stage_.bytes(session), bytes);
  ASSERT_TRUE(mend(session));
  EXPECT_TRUE(stage_.bytes(session).starts_with(bytes));
  const auto guard = session->read();
  EXPECT_EQ(guard->index().id(guard->index().parent(guard->index().leaf())).text, "aaaa0002");
}

TEST_F(DoctorRepair, BranchWithOwnEntriesIsNoDeadEnd) {
  const auto session = put(line(header_) + line(one_) + line(two_));
  auto note = json_command(R"({"type":"custom","customType":"tests","data":1})", Dialect::omp13, 1771237231000);
  ASSERT_TRUE(note);
  ASSERT_TRUE(stage_.writer().append(session, std::move(*note), "#1"));
  EXPECT_THAT(kinds(session), IsEmpty());
  const std::string bytes = stage_.bytes(session);
  ASSERT_TRUE(mend(session));
  EXPECT_EQ(stage_.bytes(session), bytes);
}

TEST_F(DoctorRepair, LabelOrModelChangeIsNoDeadEnd) {
  const std::string label =
      R"({"type":"label","id":"cccc0003","parentId":"aaaa0001","targetId":"aaaa0001","label":"x"})";
  EXPECT_THAT(kinds(put(line(header_) + line(one_) + line(two_) + line(label))), IsEmpty());
  const std::string model = R"({"type":"model_change","id":"cccc0003","parentId":"aaaa0001","model":"p/m"})";
  EXPECT_THAT(kinds(put(line(header_) + line(one_) + line(two_) + line(model))), IsEmpty());
}

TEST_F(DoctorRepair, DanglingReferencesOfCompactionsAreFound) {
  const std::string compaction =
      R"({"type":"compaction","id":"cccc0003","parentId":"aaaa0001","summary":"s","firstKeptEntryId":"nowhere"})";
  const std::string summary =
      R"({"type":"branch_summary","id":"cccc0004","parentId":"cccc0003","fromId":"aaaa0001","summary":"s"})";
  EXPECT_THAT(kinds(put(line(header_) + line(one_) + line(compaction) + line(summary))),
              ElementsAre("dangling_reference"));
}

TEST_F(DoctorRepair, UndecidableDamageIsLeftAlone) {
  const std::string bytes = line(header_) + line(one_) + line(std::string(2000, '[') + "\"");
  const auto session = put(bytes);
  const auto plan = plan_repairs(*session, stage_.catalog());
  ASSERT_TRUE(plan);
  for (const Damage& damage : session->read()->index().damage()) {
    if (damage.kind == Damage::Kind::too_tangled) {
      EXPECT_THAT(plan->edits, IsEmpty());
    }
  }
}

class DoctorLeftovers : public DoctorRepair {
 protected:
  void leave(const std::string& name, const std::string& bytes = "x") {
    std::ofstream(log().parent_path() / name) << bytes;
    age(log().parent_path() / name);
  }
  std::vector<RepairResult> mend_all(bool dry_run = false) {
    std::vector<RepairResult> all;
    Repairer mender(stage_.writer(), {dry_run, false, copies_});
    for (const OrphanFile& leftover : find_leftovers(stage_.store())) {
      auto mended = mender.mend(leftover);
      EXPECT_TRUE(mended) << (mended ? "" : mended.error().message);
      all.push_back(mended ? std::move(*mended) : RepairResult{});
    }
    return all;
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(log().parent_path())) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }
  const std::string file_ = std::string(kName) + ".jsonl";
};

TEST_F(DoctorLeftovers, LeftoversAreMovedAwayWithACopy) {
  put(line(header_));
  leave(file_ + ".12.bak", "old");
  leave("." + file_ + ".12.tmp", "half");
  leave("." + file_ + ".lock", "999999999:1\n");
  EXPECT_THAT(mend_all(true), SizeIs(3));
  EXPECT_THAT(names(), SizeIs(4));
  const auto mended = mend_all();
  EXPECT_THAT(mended, SizeIs(3));
  EXPECT_THAT(names(), ElementsAre(file_));
  std::set<std::string> kept;
  for (const auto& one : mended) {
    std::ifstream copy(one.copy);
    kept.insert(std::string(std::istreambuf_iterator<char>(copy), {}));
  }
  EXPECT_THAT(kept, ElementsAre("", "half", "old"));
}

TEST_F(DoctorLeftovers, BackupWithoutItsLogBecomesTheLog) {
  put(line(header_));
  fs::remove(log());
  leave(file_ + ".12.bak", line(header_) + line(one_));
  leave(file_ + ".13.bak", line(header_) + line(two_));
  EXPECT_THAT(mend_all(), SizeIs(2));
  EXPECT_THAT(names(), ElementsAre(file_));
  stage_.catalog().rescan();
  EXPECT_TRUE(stage_.catalog().at({"-work", file_}));
}

TEST_F(DoctorLeftovers, LeftoversOfALogInUseStay) {
  put(line(header_));
  leave(file_ + ".12.bak");
  const auto writer = log_files(stage_.store()).writer({"-work", file_});
  ASSERT_TRUE(writer);
  const auto leftovers = find_leftovers(stage_.store());
  ASSERT_THAT(leftovers, SizeIs(1));
  EXPECT_EQ(Repairer(stage_.writer(), {false, false, copies_}).mend(leftovers.front()).error().code, Errc::busy);
  EXPECT_TRUE(names().contains(file_ + ".12.bak"));
}

TEST_F(DoctorLeftovers, OldTemporaryBlobsAreMovedAway) {
  const fs::path blobs = stage_.temp().root() + "/blobs";
  fs::create_directories(blobs);
  const std::string name = "." + std::string(64, 'a') + ".77-1";
  std::ofstream(blobs / name) << "half a blob";
  std::ofstream(blobs / ".other") << "not ours to judge";
  EXPECT_THAT(mend_all(), IsEmpty()) << "it may still be being written";
  age(blobs / name);
  EXPECT_THAT(mend_all(), SizeIs(1));
  EXPECT_FALSE(fs::exists(blobs / name));
  EXPECT_TRUE(fs::exists(blobs / ".other"));
}

TEST_F(DoctorLeftovers, LocksOfRunningProcessesAreNotLeftovers) {
  put(line(header_));
  leave("." + file_ + ".lock", std::to_string(::getppid()) + ":1\n");
  EXPECT_THAT(mend_all(), IsEmpty());
}

}  // namespace
}  // namespace arborfs::omp
