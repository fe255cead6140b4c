// arborfs archive, unarchive, pin and unpin, and how ls shows what they did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/codex_stage.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kLegacy;
using testing::kPaginated;
using ::testing::Not;

class CommandMarks : public ::testing::Test {
 protected:
  CommandMarks() {
    omp.write("--work--", "2026-02-16T10-20-30-000Z_aaaa000011112222", testing::TempStore::two_entries());
  }
  int run(std::vector<std::string> words) {
    words.insert(words.begin() + 1, {"--store=codex=" + codex.home(), "--store=omp=" + omp.root()});
    return terminal.run(words);
  }
  std::string out(const std::vector<std::string>& words) {
    EXPECT_EQ(run(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }
  testing::CodexStage codex;
  testing::TempStore omp;
  testing::Variable state{"XDG_STATE_HOME", omp.root() + "/state"};
  testing::Variable data{"XDG_DATA_HOME", omp.root() + "/data"};
  testing::FakeTerminal terminal;
};

TEST_F(CommandMarks, SeveralSessionsAreArchivedAndComeBack) {
  const std::string one = kPaginated;
  const std::string two = kLegacy;
  EXPECT_EQ(out({"archive", one, two}), one + " is archived\n" + two + " is archived\n");
  EXPECT_THAT(out({"ls", "--json"}), HasSubstr("\"archived\":true"));
  EXPECT_THAT(out({"ls"}), HasSubstr("archived"));
  EXPECT_EQ(
      out({"unarchive", one, two, "--json"}),
      "[\n{\"session\":\"" + one + "\",\"archived\":false},\n{\"session\":\"" + two + "\",\"archived\":false}\n]\n");
  EXPECT_THAT(out({"ls", "--json"}), Not(HasSubstr("\"archived\":true")));
}

TEST_F(CommandMarks, PinsShow) {
  EXPECT_EQ(out({"pin", kPaginated}), std::string(kPaginated) + " is pinned\n");
  EXPECT_THAT(out({"ls"}), HasSubstr("pinned"));
  EXPECT_EQ(out({"unpin", kPaginated}), std::string(kPaginated) + " is not pinned\n");
  EXPECT_THAT(out({"ls"}), Not(HasSubstr("pinned")));
}

TEST_F(CommandMarks, AnAgentWithoutTheMarkRefusesAndTheOthersGetIt) {
  EXPECT_EQ(run({"archive", "aaaa000011112222", kPaginated}), kFailed);
  EXPECT_THAT(terminal.err.str(), AllOf(HasSubstr("aaaa000011112222: sessions of omp do not take 'archived'")));
  EXPECT_EQ(terminal.out.str(), std::string(kPaginated) + " is archived\n");
}

}  // namespace
}  // namespace arborfs::cli
