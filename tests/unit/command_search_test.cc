// The verb that searches texts.
#include "tests/unit/command_write_support.h"

namespace arborfs::cli {
namespace {

using ::testing::HasSubstr;

class CommandSearchTest : public ::arborfs::testing::WritingTest {
 protected:
  ::arborfs::testing::Variable cache{"XDG_CACHE_HOME", store.root() + "/cache"};
};

TEST_F(CommandSearchTest, UntitledSessionsShowTheirFirstMessage) {
  EXPECT_EQ(run({"search", "second"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("  first words\n"));
}

TEST_F(CommandSearchTest, FiltersThatNameNothingAreErrors) {
  expect_refused({"search", "-a", "opm", "first"}, "no store of an agent 'opm' is open; there are stores of omp\n");
  expect_refused({"search", "role:usr", "first"}, "no entry has the role 'usr'; there are entries of user\n");
  expect_refused({"resume", "agent:opm", "first"}, "no store of an agent 'opm' is open");
  EXPECT_EQ(run({"search", "role:user", "nowhere"}), kFailed);
  EXPECT_EQ(err(), "");
}

}  // namespace
}  // namespace arborfs::cli
