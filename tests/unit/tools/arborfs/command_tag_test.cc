// arborfs tag, and arborfs label for agents whose files have no labels: notes of sessions, and what selects by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/json/json_cursor.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOne = "11111111-1111-4111-8111-111111111111";
constexpr const char* kTwo = "22222222-2222-4222-8222-222222222222";

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

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
  [[nodiscard]] std::filesystem::path log() const { return claude.log("../projects/-work", kOne); }
  void put_own_tag(const std::string& tag) {
    claude.append("../projects/-work", kOne,
                  R"({"type":"tag","tag":")" + tag +
                      R"(","sessionId":"x"})"
                      "\n");
  }
  /// Those that the rows of the transcript say, in order.
  [[nodiscard]] std::vector<std::string> own_tags() const {
    std::vector<std::string> tags;
    std::ifstream in(log());
    for (std::string line; std::getline(in, line);) {
      if (skim::text_member(line, "type") == "tag") {
        tags.push_back(skim::text_member(line, "tag"));
      }
    }
    return tags;
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

TEST_F(CommandTag, TheTagOfClaudeCodeIsOneOfThem) {
  put_own_tag("green");
  EXPECT_EQ(out({"tag", kOne}), "green\n");
  EXPECT_EQ(out({"ls", "--tag", "green", "-q"}), std::string(kOne) + "\n");
  EXPECT_EQ(out({"tag", kOne, "blue", "red"}), "blue\ngreen\nred\n");
  EXPECT_EQ(own_tags(), (std::vector<std::string>{"green"})) << "it is one of them";
  EXPECT_EQ(out({"tag", kOne, "-d", "green"}), "blue\nred\n");
  EXPECT_EQ(own_tags(), (std::vector<std::string>{"green", "blue"}));
  EXPECT_EQ(run({"tag", kOne, "-d", "blue", "a/b"}), kFailed);
  EXPECT_EQ(own_tags().back(), "blue") << "nothing is changed by a tag that is none";
  std::vector<std::string> many{"tag", kOne, "-d", "blue"};
  for (int number = 0; number < 200; ++number) {
    many.push_back("t" + std::to_string(number));
  }
  EXPECT_EQ(run(many), kFailed);
  EXPECT_EQ(own_tags().back(), "blue") << "nor by too many";
  EXPECT_EQ(out({"tag", kOne, "-d", "blue", "-d", "red"}), "");
  EXPECT_EQ(own_tags().back(), "");
  put_own_tag("two words");
  EXPECT_EQ(out({"tag", kOne, "sea"}), "sea\n");
  EXPECT_EQ(own_tags().back(), "two words") << "which is no tag of arborfs, and stays";
  put_own_tag("");
  EXPECT_EQ(out({"tag", kOne}), "sea\n") << "it was cleared";
}

TEST_F(CommandTag, UndoTakesBackTheTagOfClaudeCodeToo) {
  const std::string before = bytes_of(log());
  EXPECT_EQ(out({"tag", kOne, "sea", "wind"}), "sea\nwind\n");
  EXPECT_EQ(own_tags(), (std::vector<std::string>{"sea"}));
  EXPECT_EQ(run({"undo"}), kDone);
  EXPECT_THAT(terminal.out.str(), HasSubstr("took back 'tags' of the session " + std::string(kOne)));
  EXPECT_EQ(out({"tag", kOne}), "");
  EXPECT_EQ(bytes_of(log()), before);

  EXPECT_EQ(out({"tag", kOne, "sea"}), "sea\n");
  put_own_tag("sea");  // as a run of the program repeats it
  EXPECT_EQ(run({"undo"}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("was written since; nothing was taken back"));
  EXPECT_EQ(out({"tag", kOne}), "sea\n");
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

TEST_F(CommandTag, LabelsAreNotedWhereTheAgentHasNone) {
  EXPECT_EQ(out({"label", kOne, "last-user", "asked"}), "a\n");
  EXPECT_EQ(out({"label", kOne, "leaf", "asked", "--json"}), "{\"id\":\"a\",\"parentId\":null}\n");
  EXPECT_THAT(out({"tree", kOne}), HasSubstr("[asked]"));
  EXPECT_THAT(out({"text", kOne, "asked"}), HasSubstr("find the kite"));
  EXPECT_EQ(out({"ls", "--label", "asked", "-q"}), std::string(kOne) + "\n");
  EXPECT_THAT(out({"ls", "--label", "asked", "--json"}), HasSubstr("\"labelled\":[\"000001-user-a\"]"));
  EXPECT_THAT(out({"ls", "--label", "asked"}), HasSubstr("000001-user-a"));
  EXPECT_THAT(out({"search", "label:asked", "--json"}), HasSubstr(kOne));
  EXPECT_THAT(terminal.out.str(), ::testing::Not(HasSubstr(kTwo)));
  out({"label", kOne, "asked"});
  EXPECT_EQ(run({"ls", "--label", "asked"}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("arborfs label SESSION ENTRY LABEL"));
  EXPECT_EQ(run({"label", kOne, "#7", "x"}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("no entry of the session has this name"));
}

TEST_F(CommandTag, LabelledSessionsAreNotPruned) {
  out({"label", kOne, "#1", "keep"});
  out({"prune", "--keep-days", "0", "--keep-count", "0", "-y"});
  EXPECT_EQ(out({"ls", "-q"}), std::string(kOne) + "\n");
}

TEST_F(CommandTag, NotesOfASessionThatIsGoneStayAndAreSaid) {
  out({"label", kTwo, "#1", "keep"});
  out({"tag", kTwo, "blue"});
  const std::filesystem::path log = claude.sessions() / "../projects/-work" / (std::string(kTwo) + ".jsonl");
  std::filesystem::rename(log, scratch.root() + "/kept");
  EXPECT_THAT(out({"doctor"}), HasSubstr("noted_session_gone: arborfs keeps 1 tag and 1 label for the session " +
                                         std::string(kTwo) + " of claude, which is not there any more"));
  EXPECT_THAT(terminal.out.str(), HasSubstr("notes/claude.jsonl"));
  EXPECT_THAT(terminal.out.str(), HasSubstr("no damage found, 1 note"));
  std::filesystem::rename(scratch.root() + "/kept", log);
  EXPECT_THAT(out({"doctor"}), HasSubstr("no damage found\n"));
  EXPECT_EQ(out({"tag", kTwo}), "blue\n");
  EXPECT_THAT(out({"tree", kTwo}), HasSubstr("[keep]"));
}

}  // namespace
}  // namespace arborfs::cli
