// The output of the command line for sessions of agents other than omp, on the samples: only facts that the agent
// stores.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/json/document.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"
#include "tools/arborfs/run.h"

namespace arborfs::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CommandAgentsTest : public ::testing::Test {
 protected:
  /// The output of a verb on the samples of an agent.
  std::string of(const std::string& agent, std::vector<std::string> words) {
    words.push_back("--store=" + agent + "=" + tests::kSourceDir + "/tools/samples/" + agent);
    EXPECT_EQ(terminal.run(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }

  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::FakeTerminal terminal;
};

TEST_F(CommandAgentsTest, ShowTellsTheUsageThatTheAgentKeeps) {
  EXPECT_THAT(of("opal", {"show", "latest"}), Not(HasSubstr("usage")));
  EXPECT_THAT(of("codex", {"show", "019c6bf1"}), EndsWith("usage      5,200 in, 106 out, 2,200 read from the cache\n"));
  EXPECT_THAT(of("goat", {"show", "733d6541"}), EndsWith("usage      cost 0.0019\n"));
  EXPECT_THAT(of("claude", {"show", "3de02c36"}), HasSubstr("0 written to the cache, cost 0.0312\n"));
}

TEST_F(CommandAgentsTest, TextPrintsTheTextsOfOneRole) {
  const std::string whole = of("claude", {"text", "3de02c36"});
  const std::string thoughts = of("claude", {"text", "3de02c36", "--role=thinking"});
  EXPECT_THAT(thoughts, AllOf(StartsWith("## assistant · "), Not(HasSubstr("## user"))));
  EXPECT_LT(thoughts.size(), whole.size() / 2);
  EXPECT_THAT(of("claude", {"text", "3de02c36", "--role=user"}),
              AllOf(StartsWith("## user · "), Not(HasSubstr("## assistant"))));
  json::Document rows;
  ASSERT_TRUE(json::parse(of("claude", {"text", "3de02c36", "--role=thinking", "--json"}), rows));
  EXPECT_THAT(thoughts, HasSubstr(json::string_member(rows[0], "text").value_or("?")));
  const std::string store = "--store=claude=" + std::string(tests::kSourceDir) + "/tools/samples/claude";
  EXPECT_EQ(terminal.run({"text", "3de02c36", "--role=asistant", store}), kFailed);
  EXPECT_THAT(terminal.err.str(), AllOf(HasSubstr("no entry of the branch has the role 'asistant'; there are "),
                                        HasSubstr("did you mean 'assistant'")));
  EXPECT_EQ(terminal.run({"search", "role:thinking", store}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("arborfs text SESSION --role thinking"));
}

TEST_F(CommandAgentsTest, ShowTellsTimesInTheUsersZone) {
  const testing::Variable zone("TZ", "ABC-1");  // an hour before UTC
  ::tzset();
  EXPECT_THAT(of("goat", {"show", "733d6541"}), HasSubstr("\nstarted    2026-02-13 10:12\nmodified   20"));
  EXPECT_THAT(of("claude", {"show", "3de02c36"}),
              AllOf(HasSubstr("\nstarted    2026-02-18 17:12\n"), Not(HasSubstr("read only"))));
}

TEST_F(CommandAgentsTest, StatsNameTheModelOfCodexsTurn) {
  for (const std::string kind : {"legacy", "paginated"}) {
    EXPECT_EQ(
        terminal.run({"stats", "--by=model", "--store=codex=" + std::string(tests::kTestData) + "/codex/" + kind}),
        kDone);
    EXPECT_THAT(terminal.out.str(), AllOf(HasSubstr("\nmock-1 "), Not(HasSubstr("unknown")))) << kind;
  }
}

TEST_F(CommandAgentsTest, LsShowsNoSizeOfASessionInADatabase) {
  EXPECT_THAT(of("opencode", {"ls", "-n", "1"}),
              AllOf(HasSubstr("Import of the flight logs"), HasSubstr("   -  quiet")));
  json::Document listed;
  ASSERT_TRUE(json::parse(of("opencode", {"ls", "--json"}), listed));
  EXPECT_TRUE(json::member(listed[0], "bytes")->IsNull());
  ASSERT_TRUE(json::parse(of("claude", {"ls", "--json"}), listed));
  EXPECT_TRUE(json::member(listed[0], "bytes")->IsNumber());
}

TEST_F(CommandAgentsTest, DoctorFindsNothingInIntactSessions) {
  for (const std::string agent : {"pi", "opal", "opencode", "claude", "codex", "goat"}) {
    EXPECT_THAT(of(agent, {"doctor"}), HasSubstr("no damage found")) << agent;
  }
}

TEST_F(CommandAgentsTest, ForksStayWithTheirAgentUnlessAnotherIsNamed) {
  for (const std::string agent : {"opencode", "claude", "codex"}) {
    const std::string copy = scratch.root() + "/" + agent;
    std::filesystem::copy(tests::kSourceDir + ("/tools/samples/" + agent), copy,
                          std::filesystem::copy_options::recursive);
    const auto sessions = [&] {
      EXPECT_EQ(terminal.run({"ls", "-q", "--store=" + agent + "=" + copy}), kDone);
      const std::string ids = terminal.out.str();
      return std::count(ids.begin(), ids.end(), '\n');
    };
    const auto before = sessions();
    EXPECT_EQ(terminal.run({"fork", "latest", "--store=" + agent + "=" + copy}), kDone)
        << agent << ": " << terminal.err.str();
    EXPECT_EQ(sessions(), before + 1) << agent;
  }
}

TEST_F(CommandAgentsTest, WithoutSessionsTheErrorNamesNoAgent) {
  const std::string nowhere = scratch.root() + "/nowhere";
  std::vector<std::unique_ptr<testing::Variable>> places;
  for (const char* name :
       {"HOME", "PI_CODING_AGENT_DIR", "OPAL_DATA_DIR", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"}) {
    places.push_back(std::make_unique<testing::Variable>(name, nowhere));
  }
  EXPECT_EQ(terminal.run({"ls"}), kFailed);
  EXPECT_EQ(terminal.err.str(),
            "arborfs: no agent has sessions here; 'arborfs stores' lists the folders that arborfs looks in\n");
}

}  // namespace
}  // namespace arborfs::cli
