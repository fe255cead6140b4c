// Each disk operation fails in turn during each change of a session of Claude Code, and the power fails after each
// (CONTRACT.md 6 and 7). Acknowledged changes are there, every other byte is as before, and the next append works. A
// killed process is a power cut that keeps everything.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/claude_acts.h"
#include "tests/support/crash_disk.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it
using Files = ClaudeFiles;

constexpr unsigned kEnough = 300;

WriteSettings allowing_delete() {
  WriteSettings settings;
  settings.allow_delete = true;
  return settings;
}

class ClaudeActs : public ::testing::TestWithParam<ClaudeAct> {};
INSTANTIATE_TEST_SUITE_P(Acts, ClaudeActs, ::testing::ValuesIn(kClaudeActs), name_of_claude_act);

struct FaultPlan {
  Fault fault;
  unsigned count;
};

/// False if the act met no fault.
bool survives_fault(const ClaudeAct& act, const FaultPlan& plan, unsigned at) {
  FaultyDisk disk;
  ClaudeStage stage(disk, allowing_delete());
  const Files before = prepare_claude_act(act, stage, disk);
  const auto files = claude_places(stage);
  disk.arm(plan.fault, at, plan.count);
  const auto result = act.run(stage);
  disk.disarm();
  const ::testing::ScopedTrace trace(
      __FILE__, __LINE__,
      std::string(act.name) + ", fault at " + std::to_string(at) + "; " + (result ? "done" : result.error().message));
  const bool met = !disk.met().empty();
  EXPECT_TRUE(result || met) << result.error().message;
  if (!result && plan.count == 1 && !disk.met_sync()) {
    EXPECT_EQ(claude_places(stage), files) << "a change that failed has left something";
  }
  stage.start();
  EXPECT_TRUE(!result || act.is_done(stage));
  expect_claude_kept(stage, before);
  expect_next_claude_append(stage);
  return met;
}

TEST_P(ClaudeActs, SurviveAFailureOfEachOperation) {
  constexpr FaultPlan kPlans[] = {{Fault::no_space, 1},
                                  {Fault::io, 1},
                                  {Fault::io, FaultyDisk::kForGood},
                                  {Fault::short_write, 1},
                                  {Fault::short_write, FaultyDisk::kForGood}};
  for (const FaultPlan& plan : kPlans) {
    unsigned at = 1;
    while (at < kEnough && survives_fault(GetParam(), plan, at)) {
      at += testing::kSanitizedShare;
    }
    EXPECT_GT(at, 2U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

struct Outcome {
  Bytes bytes;
  Names names;
};

/// False if the act ended before the power failed.
bool survives_cut(const ClaudeAct& act, unsigned behind) {
  constexpr Outcome kOutcomes[] = {{Bytes::kept, Names::kept}, {Bytes::kept, Names::first_half},
                                   {Bytes::kept, Names::gone}, {Bytes::dropped, Names::kept},
                                   {Bytes::torn, Names::kept}, {Bytes::nuls, Names::kept},
                                   {Bytes::torn, Names::gone}};
  CrashDisk disk;
  ClaudeStage stage(disk, allowing_delete());
  const Files before = prepare_claude_act(act, stage, disk);
  disk.begin(stage.root(), behind);
  const auto result = act.run(stage);
  const bool is_cut = disk.is_off();
  EXPECT_TRUE(is_cut || result) << result.error().message;
  std::set<Image> images;
  for (const Outcome& outcome : kOutcomes) {
    images.insert(disk.image(outcome.bytes, outcome.names));
  }
  disk.end();
  disk.set_apart("");
  stage.stop();
  for (const Image& image : images) {
    const ::testing::ScopedTrace trace(
        __FILE__, __LINE__,
        std::string(act.name) + ", power off behind operation " + std::to_string(behind) + ", " + disk.last());
    lay_out(image, stage.root());
    stage.start();
    EXPECT_TRUE(!result || act.is_done(stage)) << "what was acknowledged is not there";
    expect_claude_kept(stage, before);
    expect_next_claude_append(stage);
    stage.stop();
  }
  return is_cut;
}

TEST_P(ClaudeActs, SurviveAPowerCutAfterEachOperation) {
  unsigned behind = 0;
  while (behind < kEnough && survives_cut(GetParam(), behind)) {
    behind += testing::kSanitizedShare;
  }
  EXPECT_GT(behind, 1U);
  EXPECT_LT(behind, kEnough);
}

}  // namespace
}  // namespace arborfs
