// Each call of the disk and of SQLite fails in turn during each act of codex::Writer, and the power fails after each
// (CONTRACT.md 6 and 7). Acknowledged changes are there, earlier records are kept, and the next append works. A killed
// process is the case in which all unsynced data is kept.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/codex_acts.h"
#include "tests/support/crash_disk.h"
#include "tests/support/crash_vfs.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it

constexpr unsigned kEnough = 600;

WriteSettings settings_for_acts() {
  WriteSettings settings;
  settings.allow_delete = true;
  return settings;
}

class CodexFaultTest : public ::testing::TestWithParam<CodexAct> {
 protected:
  /// Runs the act once; `arm` and `disarm` make calls fail.
  template <class Arm, class Disarm>
  void try_act(SplitDisk& disk, const Arm& arm, const Disarm& disarm) {
    const CodexAct& act = GetParam();
    CodexStage stage(disk, settings_for_acts());
    act.prepare(stage);
    stage.start();
    disk.set_apart(act.trash_is_apart ? stage.settings().trash : "");
    const CodexBefore before = codex_before(stage);
    arm();
    const auto done = act.run(stage);
    disarm();
    SCOPED_TRACE(done ? "done" : done.error().message);
    disk.set_apart("");
    stage.start();
    EXPECT_TRUE(!done || act.is_done(stage)) << "what was acknowledged is not there";
    expect_codex_kept(stage, act, before);
  }
};

INSTANTIATE_TEST_SUITE_P(Acts, CodexFaultTest, ::testing::ValuesIn(kCodexActs), name_of_codex_act);

TEST_P(CodexFaultTest, EachFailingCallOfTheDiskLosesNothing) {
  struct Plan {
    Fault fault;
    unsigned count;
  };
  for (const Plan plan : {Plan{Fault::no_space, 1}, Plan{Fault::io, FaultyDisk::kForGood}, Plan{Fault::short_write, 1},
                          Plan{Fault::short_write, FaultyDisk::kForGood}}) {
    unsigned at = 1;
    for (bool met = true; met && at < kEnough && !HasFatalFailure(); at += kSanitizedShare) {
      SCOPED_TRACE("operation " + std::to_string(at) + (plan.count == 1 ? " once" : " and all after it"));
      FaultyDisk disk;
      try_act(
          disk, [&] { disk.arm(plan.fault, at, plan.count); }, [&] { disk.disarm(); });
      met = !disk.met().empty();
    }
    EXPECT_TRUE(at > 2 || GetParam().is_in_rows) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

TEST_P(CodexFaultTest, EachFailingCallOfSqliteLosesNothing) {
  for (const unsigned count : {1U, FailingVfs::kForGood}) {
    unsigned at = 1;
    for (bool met = true; met && at < kEnough && !HasFatalFailure(); at += (count == 1 ? 1 : 5) * kSanitizedShare) {
      SCOPED_TRACE("call " + std::to_string(at) + (count == 1 ? " once" : " and all after it"));
      FailingVfs vfs;
      SplitDisk disk;
      try_act(
          disk, [&] { vfs.arm(at, count); }, [&] { vfs.disarm(); });
      met = !vfs.met().empty();
    }
    EXPECT_LT(at, kEnough);
  }
}

struct Fate {
  Bytes bytes;
  Names names;
};
constexpr Fate kFates[] = {{Bytes::kept, Names::kept},    {Bytes::kept, Names::first_half},
                           {Bytes::dropped, Names::kept}, {Bytes::dropped, Names::gone},
                           {Bytes::torn, Names::kept},    {Bytes::nuls, Names::kept},
                           {Bytes::kept, Names::gone}};

/// False if the act ended before the power failed.
bool loses_power(const CodexAct& act, unsigned behind) {
  CrashDisk disk;
  CrashVfs vfs(disk);
  CodexStage stage(disk, settings_for_acts());
  act.prepare(stage);
  stage.start();
  disk.set_apart(act.trash_is_apart ? stage.settings().trash : "");
  const CodexBefore before = codex_before(stage);
  disk.begin(stage.root(), behind);
  const auto result = act.run(stage);
  const bool is_cut = disk.is_off();
  EXPECT_TRUE(is_cut || result) << result.error().message;
  std::set<Image> images;
  for (const Fate& fate : kFates) {
    images.insert(disk.image(fate.bytes, fate.names));
  }
  disk.end();
  disk.set_apart("");
  const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                     "power off behind operation " + std::to_string(behind) + " (" + disk.last() +
                                         "); " + (result ? "it was acknowledged" : result.error().message));
  for (const Image& image : images) {
    stage.stop();
    lay_out(image, stage.root());
    stage.start();
    EXPECT_TRUE(!result || act.is_done(stage)) << "what was acknowledged is not there";
    expect_codex_kept(stage, act, before);
  }
  return is_cut;
}

class CodexCrashTest : public ::testing::TestWithParam<CodexAct> {};
INSTANTIATE_TEST_SUITE_P(Acts, CodexCrashTest, ::testing::ValuesIn(kCodexActs), name_of_codex_act);

TEST_P(CodexCrashTest, TheThreadSurvivesAPowerCutAnywhere) {
  unsigned behind = 0;
  while (behind < kEnough && !HasFatalFailure() && loses_power(GetParam(), behind)) {
    behind += kSanitizedShare;
  }
  EXPECT_GT(behind, 1U);
  EXPECT_LT(behind, kEnough);
}

}  // namespace
}  // namespace arborfs
