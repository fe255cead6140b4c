// arborfs doctor: calls of tools without results, which it mends in a session or in a copy of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/claude_log.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kId = "11111111-1111-4111-8111-111111111111";

class CommandDoctor : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path log() const { return scratch.root() + "/claude/projects/-work/" + kId + ".jsonl"; }
  [[nodiscard]] fs::path messages() const { return scratch.root() + "/goat/s1/messages.jsonl"; }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void SetUp() override {
    tests::Rows rows;
    rows.user("u", "", R"(,"cwd":"/work")").call("c", "u", "m").user("e", "c");
    write(log(), rows.bytes());
    write(scratch.root() + "/goat/s1/metadata.json", R"({"id":"s1","cwd":"/work"})");
    write(messages(), R"({"uuid":"u1","message":{"role":"user","content":"ask"}})"
                      "\n"
                      R"({"uuid":"u2","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1",)"
                      R"("type":"function","function":{"name":"read","arguments":"{}"}}]}})"
                      "\n");
  }
  int run(std::vector<std::string> words) {
    words.insert(words.begin() + 1,
                 {"--store=claude=" + scratch.root() + "/claude", "--store=goat=" + scratch.root() + "/goat"});
    return terminal.run(words);
  }
  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::Variable data{"XDG_DATA_HOME", scratch.root() + "/data"};
  testing::FakeTerminal terminal;
};

TEST_F(CommandDoctor, FindsCallsWithoutResultsAndSaysWhatItWouldDo) {
  const std::string before = read(log()) + read(messages());
  EXPECT_EQ(run({"doctor", "-n", kId, "s1"}), kFailed);
  EXPECT_THAT(terminal.out.str(),
              AllOf(HasSubstr("call_without_result: entry #2 (c) calls the tool Read, and no result follows"),
                    HasSubstr("to repair: copy the context to a new session"),
                    HasSubstr("call_without_result: entry #2 (u2) calls the tool read"),
                    HasSubstr("to repair: append an output to 1 call"), HasSubstr("2 findings in 2 files")));
  EXPECT_EQ(read(log()) + read(messages()), before);
}

TEST_F(CommandDoctor, CopiesOnlySessionsThatAreNamed) {
  const std::string before = read(log());
  EXPECT_EQ(run({"doctor", "--repair"}), kFailed);
  EXPECT_THAT(terminal.out.str(),
              AllOf(HasSubstr("repaired: append an output to 1 call"),
                    HasSubstr(std::string("to make one: arborfs doctor --repair ") + kId), HasSubstr("1 left")));
  EXPECT_THAT(read(messages()), HasSubstr(R"("tool_call_id":"c1")"));
  EXPECT_EQ(run({"doctor", "--repair", kId}), kDone) << terminal.out.str();
  EXPECT_THAT(terminal.out.str(), AllOf(HasSubstr("repaired: copy the context to a new session"),
                                        HasSubstr(std::string(kId) + " stays as it was"), HasSubstr("none left")));
  EXPECT_EQ(read(log()), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(log().parent_path()), {}), 2);
  EXPECT_EQ(run({"doctor", "s1"}), kDone) << terminal.out.str();
}

}  // namespace
}  // namespace arborfs::cli
