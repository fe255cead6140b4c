// arborfs tag: tags of sessions of agents that arborfs only reads, and what selects by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOne = "11111111-1111-4111-8111-111111111111";
constexpr const char* kTwo = "22222222-2222-4222-8222-222222222222";

class CommandTag : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string id : {kOne, kTwo}) {
      claude.write("../projects/-work", id,
                   R"({"type":"user","uuid":"a","parentUuid":null,"sessionId":")" + id +
                       R"(","cwd":"/work","timestamp":"2026-01-01T10:00:00.000Z",)"
                       R"("message":{"role":"user","content":"find the kite"}})"
                       "\n");
    }
  }
  int run(std::vector<std::string> words) {
    words.insert(words.begin() + 1, "--store=claude=" + claude.root());
    return terminal.run(words);
  }
  std::string out(const std::vector<std::string>& words) {
    EXPECT_EQ(run(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }
  testing::TempStore claude;
  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::Variable data{"XDG_DATA_HOME", scratch.root() + "/data"};
  testing::FakeTerminal terminal;
};

TEST_F(CommandTag, TagsAreListedAddedAndRemoved) {
  EXPECT_EQ(out({"tag", kOne}), "");
  EXPECT_EQ(out({"tag", kOne, "later", "blue"}), "blue\nlater\n");
  EXPECT_EQ(out({"tag", kOne, "-d", "later", "red"}), "blue\nred\n");
  EXPECT_EQ(out({"tag", kOne, "--json"}), "[\"blue\",\"red\"]\n");
  EXPECT_EQ(run({"tag", kOne, "a/b"}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("without blanks, commas and slashes"));
  EXPECT_EQ(out({"tag", kOne}), "blue\nred\n");
}

TEST_F(CommandTag, SessionsAreChosenByTag) {
  out({"tag", kOne, "blue"});
  EXPECT_EQ(out({"ls", "--tag", "blue", "-q"}), std::string(kOne) + "\n");
  EXPECT_THAT(out({"ls", "--json", "--tag", "blue"}), HasSubstr("\"tags\":[\"blue\"]"));
  EXPECT_THAT(out({"show", kOne}), HasSubstr("blue"));
  EXPECT_THAT(out({"search", "kite", "tag:blue", "--json"}), HasSubstr(kOne));
  EXPECT_THAT(terminal.out.str(), ::testing::Not(HasSubstr(kTwo)));
  EXPECT_EQ(run({"ls", "--tag", "red"}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("arborfs tag SESSION TAG"));
}

}  // namespace
}  // namespace arborfs::cli
