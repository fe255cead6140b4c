// Each call fails in turn during each act on a store of OpenCode: those of the disk for its JSON files, those of SQLite
// for its database. No existing data is lost, nothing is torn, and no error persists.
#include <gtest/gtest.h>

#include <iterator>

#include "tests/support/failing_vfs.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/opencode_acts.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

using conformance::kOpenCodeActs;
using conformance::kOpenCodeMarker;
using conformance::kOpenCodeParent;
using conformance::kOpenCodePlain;
using conformance::lost_of;
using conformance::name_of_act;
using conformance::OpenCodeAct;
using conformance::OpenCodeStage;
using testing::FailingVfs;
using testing::Fault;
using testing::FaultyDisk;

constexpr unsigned kEnoughCalls = 2000;

class FaultsInOpenCode : public ::testing::TestWithParam<OpenCodeAct> {
 protected:
  /// Runs the act once; `arm` and `disarm` make calls fail. Brings the store back to a state in which all sessions are.
  template <class Arm, class Disarm>
  void try_act(OpenCodeStage& stage, const Arm& arm, const Disarm& disarm, bool is_undoable) {
    const OpenCodeAct& act = GetParam();
    const auto whole = stage.pieces();
    const auto prepared = act.prepare(stage);
    ASSERT_TRUE(prepared) << prepared.error().message;
    const auto before = stage.pieces();
    arm();
    const auto done = act.run(stage);
    disarm();
    SCOPED_TRACE(done ? "done" : done.error().message);
    stage.expect_sound();  // like the next program that opens the store, which repairs a database's shared memory
    stage.start();
    const bool is_as_before = stage.pieces() == before;
    if (done) {
      EXPECT_TRUE(act.is_done(stage, before)) << "what was acknowledged is not there";
    } else if (is_undoable) {
      EXPECT_TRUE(is_as_before || act.is_done(stage, before));
    }
    const auto restored = stage.restore_all();
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_TRUE(lost_of(whole, stage.pieces()).empty()) << lost_of(whole, stage.pieces()).front();
    ASSERT_TRUE(stage.titled(kOpenCodeParent) || stage.titled("another title"));
    stage.expect_sound();
  }
};

INSTANTIATE_TEST_SUITE_P(Acts, FaultsInOpenCode, ::testing::ValuesIn(kOpenCodeActs), name_of_act);

TEST_P(FaultsInOpenCode, EachFailingCallOfSqliteLosesNothing) {
  FailingVfs vfs;
  testing::SplitDisk disk;  // which syncs nothing
  OpenCodeStage stage("fresh-1.18.33", disk);
  for (const unsigned count : {1U, FailingVfs::kForGood}) {
    // Permanent failures have the same effect at neighbouring calls.
    const unsigned step = (count == 1 ? 1 : 5) * testing::kSanitizedShare;
    unsigned at = 1;
    for (bool met = true; met && at < kEnoughCalls && !HasFatalFailure(); at += step) {
      SCOPED_TRACE("call " + std::to_string(at) + (count == 1 ? " once" : " and all after it"));
      try_act(
          stage, [&] { vfs.arm(at, count); }, [&] { vfs.disarm(); }, true);
      met = !vfs.met().empty();
    }
    EXPECT_GT(at, 20U) << "SQLite does not call what fails";
    EXPECT_LT(at, kEnoughCalls);
  }
  const auto done = stage.writer().append_text(stage.titled(kOpenCodePlain), {"the next one", false, ""});
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(FaultsInOpenCode, EachFailingCallOfTheDiskLosesNothingOfFiles) {
  struct Plan {
    Fault fault;
    unsigned count;
  };
  constexpr Plan kPlans[] = {{Fault::no_space, 1},
                             {Fault::no_space, FaultyDisk::kForGood},
                             {Fault::io, FaultyDisk::kForGood},
                             {Fault::short_write, 2}};
  for (int i = 0; i < 2 * static_cast<int>(std::size(kPlans)); ++i) {
    const Plan& plan = kPlans[i / 2];
    const bool is_apart = i % 2 == 1;  // the trash is on another file system
    FaultyDisk disk;
    OpenCodeStage stage("files", disk);
    disk.set_apart(is_apart ? stage.trash() : "");
    unsigned at = 1;
    for (bool met = true; met && at < kEnoughCalls && !HasFatalFailure(); at += testing::kSanitizedShare) {
      SCOPED_TRACE("operation " + std::to_string(at) + (plan.count == 1 ? " once" : " and more after it"));
      try_act(
          stage, [&] { disk.arm(plan.fault, at, plan.count); }, [&] { disk.disarm(); }, plan.count == 1);
      met = !disk.met().empty();
    }
    EXPECT_GT(at, 3U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnoughCalls);
    const auto next = stage.writer().append_text(stage.titled(kOpenCodePlain), {"the next one", false, ""});
    EXPECT_TRUE(next) << next.error().message;
  }
}

}  // namespace
}  // namespace arborfs
