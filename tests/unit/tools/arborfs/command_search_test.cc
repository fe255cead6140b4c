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
  expect_refused({"search", "-a", "opm", "first"},
                 "no store of an agent 'opm' is open; there are stores of omp; did you mean 'omp'?\n");
  expect_refused({"search", "role:usr", "first"},
                 "no entry has the role 'usr'; there are entries of user; did you mean 'user'?\n");
  expect_refused({"resume", "agent:opm", "first"}, "no store of an agent 'opm' is open");
  EXPECT_EQ(run({"search", "role:user", "nowhere"}), kFailed);
  EXPECT_EQ(err(), "");
}

TEST_F(CommandSearchTest, OptionsAreFilters) {
  EXPECT_EQ(run({"search", "second", "--role", "user", "--since", "2020-01-01", "--title", "", "--until", "1d"}),
            kUsage);
  EXPECT_EQ(run({"search", "second", "--role", "user", "--since", "2020-01-01"}), kDone) << err();
  EXPECT_EQ(run({"search", "--role=user"}), kDone) << "a filter is enough; " << err();
  EXPECT_EQ(run({"search", "second", "--until", "2020-01-01"}), kFailed);
  EXPECT_EQ(run({"search", "second", "--tool", "bash"}), kFailed);
  EXPECT_EQ(run({"search", "second", "--label", "none"}), kFailed);
  EXPECT_EQ(run({"search", "second", "--title", "no such title"}), kFailed);
  EXPECT_EQ(err(), "");
  expect_refused({"search", "after:2026-02-16", "--since", "2026-02-16"}, "the filter after: may be given only once");
  expect_refused({"search", "--title", "a\" b"}, "cannot contain a quotation mark");
  EXPECT_EQ(run({"search"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("name words to search for, or a filter"));
}

}  // namespace
}  // namespace arborfs::cli
