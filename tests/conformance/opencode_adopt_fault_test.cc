// Each call of SQLite fails in turn while a conversation becomes a session in OpenCode's database: the database then
// has the whole session or nothing of it, and everything else is unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "core/formats/opencode/adopted_session.h"
#include "tests/support/conversations.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/opencode_acts.h"
#include "tests/support/split_disk.h"

namespace arborfs {
namespace {

using conformance::OpenCodeStage;
using testing::FailingVfs;
using Pieces = std::vector<std::string>;

constexpr unsigned kEnoughCalls = 2000;

Result<std::string> adopt(const OpenCodeStage& stage) {
  AsText counts;
  return opencode::adopt_in_database(stage.database(), sqlite::Transaction::Sync::full,
                                     testing::conversation_of(6, 3000), counts);
}

Pieces without(const Pieces& all, const Pieces& some) {
  Pieces rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

class AdoptsIntoOpenCode : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Failures, AdoptsIntoOpenCode, ::testing::Values(1U, FailingVfs::kForGood));

TEST_P(AdoptsIntoOpenCode, EachFailingCallOfSqliteLeavesTheWholeSessionOrNothing) {
  FailingVfs vfs;
  testing::SplitDisk disk;  // which syncs nothing
  OpenCodeStage stage("fresh-1.18.33", disk);
  ASSERT_TRUE(adopt(stage)) << "the project is there from now on";
  const Pieces with_project = stage.pieces();
  ASSERT_TRUE(adopt(stage));
  const std::size_t whole = without(stage.pieces(), with_project).size();
  ASSERT_EQ(whole, 1U + 6U + 6U) << "a session, its messages and their parts";
  unsigned at = 1;
  for (bool met = true; met && at < kEnoughCalls && !HasFatalFailure(); ++at) {
    const Pieces before = stage.pieces();
    vfs.arm(at, GetParam());
    const auto done = adopt(stage);
    vfs.disarm();
    met = !vfs.met().empty();
    SCOPED_TRACE("call " + std::to_string(at) + ", " + vfs.met() + (done ? ": done" : ": " + done.error().message));
    stage.expect_sound();
    const Pieces now = stage.pieces();
    EXPECT_TRUE(without(before, now).empty()) << "a row has changed or is lost";
    const std::size_t made = without(now, before).size();
    EXPECT_TRUE(made == whole || (!done && made == 0)) << made << " rows are new";
    EXPECT_TRUE(done || met);
  }
  EXPECT_GT(at, 20U) << "SQLite does not call what fails";
  EXPECT_LT(at, kEnoughCalls);
  EXPECT_TRUE(adopt(stage));
}

}  // namespace
}  // namespace arborfs
