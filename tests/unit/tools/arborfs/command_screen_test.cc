// What the verbs print on a terminal: colours, widths, branches and sub-agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/columns.h"
#include "tests/support/paths.h"
#include "tests/unit/command_write_support.h"
#include "tools/arborfs/markdown_layout.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::TempStore;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string said(const std::string& id, const std::string& parent, const std::string& text) {
  return R"({"type":"message","id":")" + id + R"(","parentId":")" + parent +
         R"(","timestamp":"2026-02-16T10:20:32.000Z","message":{"role":"assistant","content":[{"type":"text","text":")" +
         text + "\"}]}}\n";
}

/// A session with two branches: an answer with code and one without below it, and an older answer beside them.
class CommandScreenTest : public ::arborfs::testing::WritingTest {
 protected:
  CommandScreenTest() {
    write(TempStore::header(kId, store.root()) + "\n" + TempStore::user("e1e1e1e1", "", "first words") + "\n" +
          said("aaaaaaa1", "e1e1e1e1", "the old branch\\n```sh\\necho old\\n```") +
          said("aaaaaaa2", "e1e1e1e1", "with code\\n```sh\\necho new\\n```") +
          said("aaaaaaa3", "aaaaaaa2",
               "only words, and many of them, more than any screen of eighty columns has room for"));
  }
  void sit_at(std::size_t width) {
    terminal.io.out_is_terminal = true;
    terminal.io.width = width;
  }
};

TEST_F(CommandScreenTest, ColourFollowsTheTerminalUnlessItIsChosen) {
  const auto is_coloured = [this](std::vector<std::string> words) {
    EXPECT_EQ(run(std::move(words)), kDone) << err();
    return out().find('\x1b') != std::string::npos;
  };
  for (const std::string verb : {"tree", "text", "show"}) {
    terminal.io.out_is_terminal = false;
    EXPECT_FALSE(is_coloured({verb, kId})) << verb;
    EXPECT_TRUE(is_coloured({verb, kId, "--color=always"})) << verb;
    sit_at(80);
    EXPECT_TRUE(is_coloured({verb, kId})) << verb;
    EXPECT_TRUE(is_coloured({verb, kId, "--color=auto"})) << verb;
    EXPECT_FALSE(is_coloured({verb, kId, "--color", "never"})) << verb;
    EXPECT_FALSE(is_coloured({verb, kId, "--json"})) << verb;
    terminal.variables["NO_COLOR"] = "1";
    EXPECT_FALSE(is_coloured({verb, kId})) << verb;
    EXPECT_TRUE(is_coloured({verb, kId, "--color=always"})) << verb;
    terminal.variables.erase("NO_COLOR");
    terminal.variables["TERM"] = "dumb";
    EXPECT_FALSE(is_coloured({verb, kId})) << verb;
    terminal.variables["TERM"] = "xterm";
  }
  EXPECT_EQ(run({"tree", kId, "--color=alwys"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("'alwys' is not one of auto, always, never; did you mean 'always'?"));
}

TEST_F(CommandScreenTest, TheTreeIsAsWideAsTheTerminal) {
  terminal.variables["NO_COLOR"] = "1";
  for (const std::size_t width : {40, 60, 80, 120, 200}) {
    sit_at(width);
    EXPECT_EQ(run({"tree", kId}), kDone) << err();
    std::istringstream lines(out());
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(columns_of(line), width) << line;
    }
    EXPECT_EQ(out().find("room for") != std::string::npos, width >= 200) << out();
    EXPECT_EQ(out().find(" 02-16 10:20 assistant ") != std::string::npos, width >= 60) << out();
    EXPECT_THAT(out(), HasSubstr("<- leaf\n"));
  }
}

TEST_F(CommandScreenTest, ATextOfAnotherBranch) {
  EXPECT_EQ(run({"text", kId, "--branch", "000002-aaaaaaa1"}), kDone) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("first words"), HasSubstr("the old branch"), Not(HasSubstr("only words"))));
  EXPECT_EQ(run({"text", kId, "--branch=aaaaaaa2"}), kDone) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("with code"), Not(HasSubstr("only words")))) << "up to any entry";
  EXPECT_EQ(run({"text", kId, "--branch=current"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("only words"));
  expect_refused({"text", kId, "--branch=none"}, "'none': no entry of the session has this name");
  EXPECT_EQ(run({"text", kId, "--branch=leaf", "leaf"}), kUsage);
}

TEST_F(CommandScreenTest, TheLastCodeIsLookedForBackwards) {
  EXPECT_EQ(run({"text", kId, "--code"}), kDone) << err();
  EXPECT_EQ(out(), "echo new\n");
  EXPECT_EQ(run({"text", kId, "--code", "--branch=aaaaaaa1"}), kDone) << err();
  EXPECT_EQ(out(), "echo old\n");
  expect_refused({"text", kId, "--code", "leaf"}, "the entry has no fenced code block");
}

TEST_F(CommandScreenTest, ShowWrapsToTheTerminal) {
  terminal.variables["NO_COLOR"] = "1";
  sit_at(40);
  EXPECT_EQ(run({"show", kId}), kDone) << err();
  std::istringstream lines(out());
  for (std::string line; std::getline(lines, line);) {
    const bool is_one_word = line.size() > 11 && line.find(' ', 11) == std::string::npos;
    EXPECT_TRUE(columns_of(line) <= 40 || is_one_word) << line;
  }
}

TEST_F(CommandScreenTest, ShowHasAsManyWordsOfABranchAsTheScreenHasRoomFor) {
  terminal.variables["NO_COLOR"] = "1";
  sit_at(120);
  EXPECT_EQ(run({"show", kId}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("than any screen of eighty columns has room for\n"));
  EXPECT_THAT(out(), HasSubstr("(assistant 3, user 1)"));
}

TEST_F(CommandScreenTest, ColoursSuitBothBackgroundsWhereThereAre256) {
  sit_at(80);
  EXPECT_EQ(run({"tree", kId}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("\x1b[32m assistant\x1b[0m"));
  terminal.variables["TERM"] = "xterm-256color";
  EXPECT_EQ(run({"tree", kId}), kDone) << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("\x1b[38;5;28m assistant\x1b[0m"), Not(HasSubstr("\x1b[32m"))));
  terminal.variables["TERM"] = "screen";
  terminal.variables["COLORTERM"] = "truecolor";
  EXPECT_EQ(run({"tree", kId}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("\x1b[38;5;28m assistant\x1b[0m"));
}

TEST_F(CommandScreenTest, TheHelpFitsTheTerminal) {
  for (const std::string verb : {"", "ls", "fork", "search"}) {
    for (const std::size_t width : {40, 60, 80, 200}) {
      sit_at(width);
      EXPECT_EQ(run(verb.empty() ? std::vector<std::string>{"--help"} : std::vector<std::string>{"help", verb}), kDone);
      std::istringstream lines(out());
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(columns_of(line), std::min<std::size_t>(width, 100)) << verb << ": " << line;
      }
    }
  }
  sit_at(40);
  EXPECT_EQ(run({"--help"}), kDone);
  EXPECT_THAT(out(),
              AllOf(HasSubstr("\n  ls            List the sessions, most\n                recently written first\n"),
                    HasSubstr("\nFind:\n  ls "), HasSubstr("\nRead:\n  show ")));
  EXPECT_EQ(run({"ls", "--help"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\n  --sort KEY\n      Order: modified"));
  sit_at(80);
  EXPECT_EQ(run({"ls", "--help"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\n  --sort KEY            Order: modified"));
}

TEST_F(CommandScreenTest, WhatIsNotThereIsSaid) {
  sit_at(80);
  terminal.io.err_is_terminal = true;
  for (const auto& [verb, why] : {std::pair("files", "no tool of the session read, edited or wrote a file\n"),
                                  std::pair("commands", "no tool of the session ran a command\n"),
                                  std::pair("changes", "no tool of the session changed a file\n")}) {
    EXPECT_EQ(run({verb, kId}), kDone);
    EXPECT_EQ(out(), "") << verb;
    EXPECT_EQ(err(), why);
  }
  EXPECT_EQ(run({"ls", "--state=live"}), kDone);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("no session is live\n"));
}

TEST(CommandWork, IsColouredAsGitDoes) {
  ::arborfs::testing::TempStore scratch;
  const ::arborfs::testing::Variable state("XDG_STATE_HOME", scratch.root() + "/state");
  ::arborfs::testing::FakeTerminal terminal;
  const std::string store = "--store=omp=" + std::string(tests::kSourceDir) + "/tools/samples/omp";
  EXPECT_EQ(terminal.run({"changes", store, "019c65b8", "--color=always"}), kDone) << terminal.err.str();
  EXPECT_THAT(terminal.out.str(), AllOf(HasSubstr("\x1b[1m+++ b/home/sam/work/harbor/upload/fake_store.go\x1b[0m\n"
                                                  "\x1b[36m@@ -1,1 +1,1 @@\x1b[0m\n\x1b[31m-time.Sleep\x1b[0m\n"
                                                  "\x1b[32m+s.waitForPart\x1b[0m\n"),
                                        HasSubstr("\x1b[2m# What 2 commands")));
  EXPECT_EQ(terminal.run({"commands", store, "019c65b8", "--color=always"}), kDone) << terminal.err.str();
  EXPECT_THAT(terminal.out.str(), AllOf(HasSubstr("harbor · failed\x1b[0m\ngo test"), HasSubstr("\x1b[31m# entry 4 "),
                                        HasSubstr("\x1b[2m# entry 21 ")));
}

TEST(CommandStats, SessionsHaveTheirTitles) {
  ::arborfs::testing::TempStore scratch;
  const ::arborfs::testing::Variable state("XDG_STATE_HOME", scratch.root() + "/state");
  ::arborfs::testing::FakeTerminal terminal;
  const std::string store = "--store=omp=" + std::string(tests::kSourceDir) + "/tools/samples/omp";
  EXPECT_EQ(terminal.run({"stats", store, "--by=session"}), kDone) << terminal.err.str();
  EXPECT_THAT(terminal.out.str(), HasSubstr("\n019c65b8-8f00-70bd-80bb-9deb8e394404  Fix the flaky upload test  "));
  terminal.io.out_is_terminal = true;
  terminal.io.width = 120;
  EXPECT_EQ(terminal.run({"stats", store, "--by=session"}), kDone) << terminal.err.str();
  EXPECT_THAT(terminal.out.str(), HasSubstr("\n019c65b8  Fix the flaky upload test  ")) << "an id that verbs take";
}

TEST(CommandShow, NamesTheSubAgents) {
  ::arborfs::testing::TempStore scratch;
  const ::arborfs::testing::Variable state("XDG_STATE_HOME", scratch.root() + "/state");
  ::arborfs::testing::FakeTerminal terminal;
  const std::string store = "--store=claude=" + std::string(tests::kSourceDir) + "/tools/samples/claude";
  EXPECT_EQ(terminal.run({"show", store, "f436f60c"}), kDone) << terminal.err.str();
  EXPECT_THAT(terminal.out.str(),
              HasSubstr("sub-agents 1\n    agent-36ee684883b4acda9  List the calls of upload() outside of retry()."));
  EXPECT_EQ(terminal.run({"show", store, "f436f60c", "--json"}), kDone);
  EXPECT_THAT(terminal.out.str(), HasSubstr(R"("children":[{"session":"agent-36ee684883b4acda9","title":"List)"));
}

TEST(MarkdownLayoutTest, SetsHeadingsAndCodeOffWhereverPiecesEnd) {
  ::arborfs::testing::FakeTerminal terminal;
  terminal.io.colour = Colour::always;
  const std::string text = "## user · x\n\nwords\n```sh\n## no heading\n```\n> quoted";
  const std::string expected =
      "\x1b[36m## user · x\x1b[0m\n\nwords\n\x1b[2m```sh\x1b[0m\n## no heading\n\x1b[2m```\x1b[0m\n"
      "\x1b[2m> quoted\x1b[0m";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    MarkdownLayout layout(terminal.io, 0);
    std::string out;
    layout.feed(text.substr(0, at), out);
    layout.feed(text.substr(at), out);
    layout.finish(out);
    EXPECT_EQ(out, expected) << at;
  }
}

TEST(MarkdownLayoutTest, BreaksLinesOutsideOfCodeAtSpaces) {
  ::arborfs::testing::FakeTerminal terminal;
  const std::string text =
      "## user · 2026-02-16 · 278fa836\n\n> a quotation of some words\n- an item of some words\n"
      "  * nested words of an item\n12. a numbered one of them\n```\nlong code stays as it is here\n```\nshort\n"
      "a-word-that-is-longer-than-the-screen and more";
  const std::string expected =
      "## user · 2026-02-16 ·\n278fa836\n\n> a quotation of some\n> words\n- an item of some\n  words\n"
      "  * nested words of an\n    item\n12. a numbered one of\n    them\n```\nlong code stays as it is "
      "here\n```\nshort\n"
      "a-word-that-is-longer-than-the-screen\nand more";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    MarkdownLayout layout(terminal.io, 22);
    std::string out;
    layout.feed(text.substr(0, at), out);
    layout.feed(text.substr(at), out);
    layout.finish(out);
    EXPECT_EQ(out, expected) << at;
  }
}

TEST_F(CommandScreenTest, ATextIsAsWideAsTheScreenAndWholeElsewhere) {
  terminal.variables["NO_COLOR"] = "1";
  const std::string whole = "only words, and many of them, more than any screen of eighty columns has room for\n";
  EXPECT_EQ(run({"text", kId, "leaf"}), kDone) << err();
  EXPECT_EQ(out(), whole);
  terminal.variables["FZF_PREVIEW_COLUMNS"] = "41";
  EXPECT_EQ(run({"text", kId, "leaf"}), kDone) << err();
  EXPECT_EQ(out(), "only words, and many of them, more than\nany screen of eighty columns has room\nfor\n");
  terminal.variables.erase("FZF_PREVIEW_COLUMNS");
  sit_at(80);
  EXPECT_EQ(run({"text", kId, "leaf"}), kDone) << err();
  EXPECT_EQ(out(), "only words, and many of them, more than any screen of eighty columns has room\nfor\n");
}

}  // namespace
}  // namespace arborfs::cli
