// Each test has folders of its own for what arborfs keeps for its user, so that it finds nothing of another test, and
// leaves nothing in the home of the person who runs it.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::testing {
namespace {

struct Home {
  TempStore folder{memory_folder()};
  Variable state{"XDG_STATE_HOME", folder.root() + "/state"};
  Variable data{"XDG_DATA_HOME", folder.root() + "/data"};
  Variable cache{"XDG_CACHE_HOME", folder.root() + "/cache"};
};

class OwnHome final : public ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest& /*program*/) override { of_program_.emplace(); }
  void OnTestStart(const ::testing::TestInfo& /*test*/) override { of_test_.emplace(); }
  void OnTestEnd(const ::testing::TestInfo& /*test*/) override { of_test_.reset(); }
  void OnTestProgramEnd(const ::testing::UnitTest& /*program*/) override { of_program_.reset(); }

  std::optional<Home> of_program_;  // for what the tests of a suite share
  std::optional<Home> of_test_;
};

[[maybe_unused]] const bool kIsAdded = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new OwnHome);  // which owns it
  return true;
}();

}  // namespace
}  // namespace arborfs::testing
