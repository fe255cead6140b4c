// arborfs files, commands and changes: on which branches, and with what the started sessions did.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kId = "019c4740-4400-7084-801f-000000000001";

/// A row of Claude Code at a second of a minute, behind the row `parent`.
std::string row(const std::string& id, const std::string& parent, int second, const std::string& role,
                const std::string& content, const std::string& result = "null") {
  return R"({"parentUuid":)" + (parent.empty() ? "null" : "\"" + parent + "\"") + R"(,"type":")" + role +
         R"(","uuid":")" + id + R"(","sessionId":")" + kId + R"(","cwd":"/w","timestamp":"2026-05-01T10:00:)" +
         std::to_string(second) + R"(.000Z","message":{"id":")" + id + R"(","role":")" + role + R"(","content":)" +
         content + R"(},"toolUseResult":)" + result + "}\n";
}

/// A call and its result a second later: rows `id` and `id` with an r behind it.
std::string call(const std::string& id, const std::string& parent, int second, const std::string& tool,
                 const std::string& input, const std::string& result = "{}") {
  return row(id, parent, second, "assistant",
             R"([{"type":"tool_use","id":"t)" + id + R"(","name":")" + tool + R"(","input":)" + input + "}]") +
         row(id + "r", id, second + 1, "user",
             R"([{"type":"tool_result","tool_use_id":"t)" + id + R"(","content":"x"}])", result);
}

class CommandWorkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write(std::string(kId) + ".jsonl",
          call("a", "", 10, "Write", R"({"file_path":"/w/f","content":"one\n"})") +
              call("b", "ar", 20, "Bash", R"({"command":"make left"})") +
              call("c", "ar", 40, "Edit", R"({"file_path":"/w/f","old_string":"two","new_string":"three"})"));
    write(std::string(kId) + "/subagents/agent-77.jsonl",
          call("s", "", 30, "Edit", R"({"file_path":"/w/f","old_string":"one","new_string":"two"})") +
              call("t", "sr", 33, "Bash", R"({"command":"make helped"})"));
  }

  std::string of(std::vector<std::string> words) {
    words.insert(words.end(), {kId, "--store=claude=" + store.root()});
    EXPECT_EQ(terminal.run(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }

  testing::TempStore store;
  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::FakeTerminal terminal;

 private:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(store.root()) / "projects/-w" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
};

TEST_F(CommandWorkTest, StartedSessionsCountInTheOrderOfTheirTimes) {
  EXPECT_THAT(of({"changes"}), HasSubstr("not the text that is known"));
  const std::string diff = of({"changes", "-c"});
  EXPECT_THAT(diff, AllOf(HasSubstr("# /w/f · entries 1, 1 of agent-77, 5\n"), HasSubstr("+three\n")));
  EXPECT_THAT(diff, HasSubstr("1 command changed is not recorded (entry 3 of agent-77)"));
  EXPECT_THAT(of({"files"}), HasSubstr("/w/f\t0\t1\t1\t"));
  EXPECT_THAT(of({"files", "-c"}), AllOf(HasSubstr("/w/f\t0\t2\t1\t"), HasSubstr("\t1,agent-77:1,5\n")));
  EXPECT_THAT(of({"files", "-c", "--json"}),
              HasSubstr(R"("entries":[1,5],"started":[{"session":"agent-77","entry":1}])"));
  EXPECT_THAT(of({"commands"}), Not(HasSubstr("make helped")));
  EXPECT_THAT(of({"commands", "-c"}), AllOf(HasSubstr("make left\n"), HasSubstr("# entry 3 of agent-77 · ")));
  EXPECT_THAT(of({"commands", "--children", "--json"}), HasSubstr(R"({"entry":3,"session":"agent-77","command":)"));
}

TEST_F(CommandWorkTest, ABranchHasOnlyItsCalls) {
  EXPECT_THAT(of({"commands"}), HasSubstr("make left\n"));
  EXPECT_EQ(of({"commands", "--branch=current"}), "");
  EXPECT_THAT(of({"commands", "--branch=#4"}), HasSubstr("make left\n"));
  EXPECT_THAT(of({"files", "--branch=#4"}), HasSubstr("/w/f\t0\t0\t1\t"));
  EXPECT_THAT(of({"changes"}), AllOf(HasSubstr("# /w/f · entry 5\n"), Not(HasSubstr("command"))));
  EXPECT_THAT(of({"changes", "--branch=#4"}), AllOf(HasSubstr("# /w/f · entry 1\n"), HasSubstr("(entry 3)")));
}

}  // namespace
}  // namespace arborfs::cli
