// Each disk operation fails, and the power fails after each, during every change of Opal's sessions (CONTRACT.md 6 and
// 7). A session is as before or as after the change, acknowledged changes are there, every other line is unchanged, and
// the next append works. A killed process is a power cut that keeps everything.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/crash_disk.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/opal_acts.h"

namespace arborfs {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it

constexpr unsigned kEnough = 100;

std::string name_of(const ::testing::TestParamInfo<OpalAct>& with) {
  std::string name = with.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

/// The log as before, or after the act; every session is one that Opal loads, and takes an append.
void expect_whole(OpalStage& stage, const OpalAct& act) {
  const std::string log = stage.bytes();
  const std::string before = std::string(OpalStage::kHeader) + "\n" + OpalStage::kLines;
  EXPECT_TRUE(log == before || act.is_done(stage)) << log;
  EXPECT_NE(log.find("\n" + std::string(log == before ? OpalStage::kLines : act.keeps)), std::string::npos) << log;
  EXPECT_TRUE(stage.hidden().empty()) << stage.hidden().front() << " is left";
  ASSERT_TRUE(stage.session()) << "the session is gone";
  expect_each_continues(stage);
}

class OpalActs : public ::testing::TestWithParam<OpalAct> {};
INSTANTIATE_TEST_SUITE_P(Acts, OpalActs, ::testing::ValuesIn(kOpalActs), name_of);

struct Plan {
  Fault fault;
  unsigned count;
};

/// False if the act met no fault.
bool survives_fault(const OpalAct& act, const Plan& plan, unsigned at) {
  FaultyDisk disk;
  OpalStage stage(disk);
  const std::string before = stage.bytes();
  disk.arm(plan.fault, at, plan.count);
  const auto result = act.run(stage);
  disk.disarm();
  const bool met = !disk.met().empty();
  EXPECT_TRUE(result || met) << result.error().message;
  if (!result && !disk.met_sync()) {
    EXPECT_EQ(stage.bytes(), before);
  }
  if (plan.count == 1) {  // a replaced log has a hidden name until it is removed
    const bool was_remove = disk.met() == std::vector<std::string>{"remove"};
    EXPECT_LE(stage.hidden().size(), was_remove ? 1U : 0U);
  }
  stage.start();
  if (!result && !disk.met_sync()) {
    EXPECT_EQ(stage.sessions().size(), 1U);
  }
  EXPECT_TRUE(!result || act.is_done(stage));
  expect_whole(stage, act);
  return met;
}

TEST_P(OpalActs, SurviveAFailureOfEachOperation) {
  constexpr Plan kPlans[] = {{Fault::no_space, 1},
                             {Fault::no_space, FaultyDisk::kForGood},
                             {Fault::io, 1},
                             {Fault::io, FaultyDisk::kForGood},
                             {Fault::short_write, 1},
                             {Fault::short_write, 2},
                             {Fault::short_write, FaultyDisk::kForGood}};
  for (const Plan& plan : kPlans) {
    unsigned at = 1;
    while (at < kEnough && survives_fault(GetParam(), plan, at)) {
      ++at;
    }
    EXPECT_GT(at, 4U) << "the disk is not the one that is written through";
    EXPECT_LT(at, kEnough);
  }
}

/// False if the act ended before the power failed.
bool survives_cut(const OpalAct& act, unsigned behind) {
  CrashDisk disk;
  OpalStage stage(disk);
  disk.begin(stage.root(), behind);
  const auto result = act.run(stage);
  const bool is_cut = disk.is_off();
  EXPECT_TRUE(is_cut || result) << result.error().message;
  const auto images = disk.images({Bytes::kept, Bytes::dropped, Bytes::torn, Bytes::nuls});
  disk.end();
  for (const Image& image : images) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "power off behind operation " + std::to_string(behind) + ", " + disk.last());
    stage.stop();
    lay_out(image, stage.root());
    stage.start();
    EXPECT_TRUE(!result || act.is_done(stage)) << "what was acknowledged is not there";
    expect_whole(stage, act);
  }
  return is_cut;
}

TEST_P(OpalActs, SurviveAPowerCutAfterEachOperation) {
  unsigned behind = 0;
  while (behind < kEnough && survives_cut(GetParam(), behind)) {
    ++behind;
  }
  EXPECT_GT(behind, 3U) << "the disk is not the one that is written through";
  EXPECT_LT(behind, kEnough);
}

}  // namespace
}  // namespace arborfs
