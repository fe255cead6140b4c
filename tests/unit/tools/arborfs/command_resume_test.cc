// The verb that continues a session: the choice of the session, and the command for each agent.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/stand_in.h"
#include "tests/unit/command_write_support.h"
#include "tools/arborfs/programs.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::StandInLook;
using ::arborfs::testing::TempStore;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

/// The session of WritingTest ran in the store's folder. Another one, written later, ran in a folder that is gone.
class CommandResumeTest : public ::arborfs::testing::WritingTest {
 protected:
  static constexpr char kGoneId[] = "bbbb000011112222";
  CommandResumeTest() {
    store.write(
        "-gone", kGoneId,
        TempStore::header(kGoneId, gone()) + "\n" + TempStore::user("e1e1e1e1", "", "race in the cache") + "\n");
    fs::last_write_time(log(), fs::file_time_type::clock::now() - std::chrono::hours(1));
    fs::create_directories(programs());
    terminal.variables["PATH"] = "relative:" + programs() + "/none:" + programs();
  }
  [[nodiscard]] std::string gone() const { return store.root() + "/gone"; }
  [[nodiscard]] std::string programs() const { return store.root() + "/programs"; }
  void install(const std::string& name, const std::string& script) const {
    const std::string path = programs() + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }
  void sit_at_the_terminal(const std::string& typed) {
    terminal.type(typed);
    terminal.io.in_is_terminal = true;
    terminal.io.err_is_terminal = true;
  }
  [[nodiscard]] std::string command_of(const std::string& folder, const fs::path& path) const {
    return "cd " + folder + " && PI_CODING_AGENT_DIR=" + store.root() + " omp --resume " + path.string() + "\n";
  }

  /// The exit status of a command line in a process of its own, which becomes the agent; -1 without one.
  int status_of(const std::vector<std::string>& words) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(run(words));
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(CommandResumeTest, PrintsTheCommandOfASession) {
  EXPECT_EQ(run({"resume", "--print", kId}), kDone) << err();
  EXPECT_EQ(out(), command_of(store.root(), log()));
  EXPECT_EQ(run({"resume", "--print", "latest"}), kDone) << err();
  EXPECT_EQ(out(), command_of(gone(), store.log("-gone", kGoneId)));
  EXPECT_EQ(run({"resume", "--print", "--json", "aaaa"}), kDone) << err();
  EXPECT_EQ(result()["session"], kId);
  EXPECT_EQ(result()["cwd"], store.root());
  EXPECT_EQ(result()["environment.PI_CODING_AGENT_DIR"], store.root());
  EXPECT_EQ(result()["command"], R"(["omp","--resume",")" + log().string() + R"("])");
}

TEST_F(CommandResumeTest, WordsFindASessionByItsTitleElseByItsTexts) {
  EXPECT_EQ(run({"resume", "--print", "Cache", "race"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kGoneId));
  EXPECT_EQ(run({"title", kId, "The race of the cache"}), kDone) << err();
  EXPECT_EQ(run({"resume", "--print", "race of"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kId));
  EXPECT_EQ(run({"resume", "--print", "neither"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no session has the id, the title or the words 'neither'"));
}

TEST_F(CommandResumeTest, SeveralMatchesAreListed) {
  store.write("-gone", "cccc000011112222",
              TempStore::header("cccc000011112222", gone()) + "\n" + TempStore::user("e1", "", "a race again") + "\n");
  EXPECT_EQ(run({"resume", "--print", "race"}), kFailed);
  EXPECT_THAT(err(), AllOf(HasSubstr("several sessions match 'race':\n"), HasSubstr(kGoneId),
                           ContainsRegex("cccc000011112222  20..-..-.. ..:..  "), Not(HasSubstr(kId))));
}

TEST_F(CommandResumeTest, WithoutATerminalTheLatestOfTheFolderIsMeant) {
  EXPECT_EQ(run({"resume", "--print", "-p", store.root()}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kId));
  EXPECT_EQ(run({"resume", "--print"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no session was started in " + fs::current_path().string()));
}

TEST_F(CommandResumeTest, DotIsTheLatestOfTheFolderAtATerminalToo) {
  sit_at_the_terminal("");
  EXPECT_EQ(run({"resume", "--print", "."}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no session was started in " + fs::current_path().string()));
  store.write("-here", "eeee000011112222", TempStore::header("eeee000011112222", fs::current_path().string()) + "\n");
  EXPECT_EQ(run({"resume", "--print", "."}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("eeee000011112222"));
}

TEST_F(CommandResumeTest, AtATerminalTheUserChoosesByNumber) {
  sit_at_the_terminal("2\n");
  EXPECT_EQ(run({"resume", "--print"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kId));
  EXPECT_THAT(err(), AllOf(HasSubstr("race in the cache"),
                           HasSubstr("resume which session? a number, or words to search for [1] ")));
  sit_at_the_terminal("\n");
  EXPECT_EQ(run({"resume", "--print"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kGoneId));
  sit_at_the_terminal("7\n");
  EXPECT_EQ(run({"resume", "--print"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("'7' is not a number in the list"));
  sit_at_the_terminal("");
  EXPECT_EQ(run({"resume", "--print"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("nothing was chosen"));
  sit_at_the_terminal("nowhere\nsecond\n1\n");
  EXPECT_EQ(run({"resume", "--print"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kId)) << "the text has the word";
  EXPECT_THAT(err(), HasSubstr("no session has the words 'nowhere'"));
}

TEST_F(CommandResumeTest, ListsTheChoiceInColumns) {
  EXPECT_EQ(run({"resume", "--list"}), kDone) << err();
  EXPECT_THAT(out(), ::testing::ContainsRegex(std::string(kGoneId) + "\t20.* omp  .* race in the cache\n" + kId +
                                              "\t20.* omp  .* first words\n"));
  EXPECT_EQ(run({"resume", "--list", "second"}), kDone) << err();
  EXPECT_TRUE(out().starts_with(std::string(kId) + "\t")) << out();
  terminal.variables["COLUMNS"] = "40";
  EXPECT_EQ(run({"resume", "--list", "\"open"}), kDone) << "while it is typed; " << err();
  EXPECT_EQ(out(), "");
  EXPECT_EQ(run({"resume", "--list", "--json", "race"}), kDone) << err();
  EXPECT_EQ(result()["session"], "absent");
  EXPECT_THAT(out(), HasSubstr(R"("title":"race in the cache")"));
}

TEST_F(CommandResumeTest, TheLatestOfAFolderAboveIsMeant) {
  const std::string below = store.root() + "/src/deep";
  fs::create_directories(below);
  EXPECT_EQ(run({"resume", "--print", "-p", below}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kId));
}

TEST_F(CommandResumeTest, WhereItIsInstalledFzfAsks) {
  install("fzf", "printf '%s\\n' \"$@\" > '" + programs() + "/said'; while read -r row; do case $row in " +
                     std::string(kId) + "*) printf '%s\\n' \"$row\";; esac; done");
  sit_at_the_terminal("");
  EXPECT_EQ(run({"resume", "--print"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kId));
  EXPECT_THAT(::arborfs::testing::bytes_of(programs() + "/said"),
              AllOf(HasSubstr(" text --agent-dir " + store.root() + " -- {1} | tail"),
                    HasSubstr(" resume --list --agent-dir " + store.root() + " -- {q}")));
  install("fzf", "exit 130");
  EXPECT_EQ(run({"resume", "--print"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("nothing was chosen"));
}

TEST_F(CommandResumeTest, RunsTheAgentInTheWorkingDirectory) {
  install("omp", "{ pwd; printf '%s\\n' \"$PI_CODING_AGENT_DIR\" \"$@\"; } > '" + programs() + "/said'; exit 7");
  EXPECT_EQ(status_of({"resume", kId}), 7);
  EXPECT_EQ(::arborfs::testing::bytes_of(programs() + "/said"),
            store.root() + "\n" + store.root() + "\n--resume\n" + log().string() + "\n");
}

TEST_F(CommandResumeTest, SaysWhyTheAgentCannotRun) {
  expect_refused({"resume", kId}, "omp is not installed: no folder of $PATH has a program of this name");
  install("omp", "exit 7");
  expect_refused({"resume", kGoneId}, "the session's working directory is gone: " + gone());
}

TEST_F(CommandResumeTest, ALiveSessionIsResumedOnlyByForce) {
  install("omp", "exit 7");
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const int held = ::open(log().c_str(), O_WRONLY | O_APPEND);
    ::_exit(held < 0 || ::write(ready[1], "x", 1) != 1 ? 1 : ::pause());
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  expect_refused({"resume", kId}, "go on there or end that program, or give --force");
  EXPECT_EQ(run({"resume", "--print", kId}), kDone) << err();
  EXPECT_EQ(status_of({"resume", "--force", kId}), 7);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

// A second program in a session overwrites the work of the first: what append refuses, resume refuses.
TEST_F(CommandResumeTest, ASessionThatAProgramMayHoldIsResumedOnlyByForce) {
  install("omp", "exit 7");
  StandInLook look;
  look.path = store.root() + "/bin/omp";
  look.arguments = {"--resume", log().string()};
  look.environment = {{"PI_CODING_AGENT_DIR", store.root()}};
  const ::arborfs::testing::StandIn omp(look);
  expect_refused({"append", kId, "more"}, "(process " + std::to_string(omp.pid()) + ")");
  expect_refused({"resume", kId}, "(process " + std::to_string(omp.pid()) + ")");
  EXPECT_EQ(run({"resume", "--print", kId}), kDone) << err();
  EXPECT_EQ(status_of({"resume", "--force", kId}), 7);
  omp.end(SIGKILL);
  EXPECT_EQ(status_of({"resume", kId}), 7);
}

TEST(ResumeOfEachAgent, HasACommand) {
  ::arborfs::testing::TempStore scratch;
  const ::arborfs::testing::Variable state("XDG_STATE_HOME", scratch.root() + "/state");
  ::arborfs::testing::FakeTerminal terminal;
  const std::string samples = std::string(tests::kSourceDir) + "/tools/samples";
  const auto folder = [&samples](const std::string& agent) { return samples + "/" + agent; };
  const auto command_of = [&](const std::string& agent, const std::string& session) {
    terminal.run({"resume", "--print", session, "--store=" + agent + "=" + folder(agent)});
    return terminal.out.str() + terminal.err.str();
  };
  EXPECT_THAT(command_of("pi", "latest"),
              HasSubstr("cd /home/sam/work/kite && PI_CODING_AGENT_DIR=" + folder("pi") + " pi --session /"));
  EXPECT_EQ(command_of("opal", "8bb72f1f"),
            "OPAL_DATA_DIR=" + folder("opal") + " opal --session 8bb72f1fb29bef90ab02ab50ff0b8375\n");
  EXPECT_THAT(command_of("opencode", "latest"),
              AllOf(HasSubstr("XDG_DATA_HOME=" + samples + " opencode"),
                    HasSubstr(" opencode --session ses_3a870edfffffnTWO34IMnYjOzb\n")));
  EXPECT_THAT(command_of("claude", "3de02c36"), HasSubstr("CLAUDE_CONFIG_DIR=" + folder("claude") +
                                                          " claude --resume 3de02c36-68c7-4f2d-876a-9a969253a5af"));
  EXPECT_THAT(command_of("claude", "agent-36ee684883b4acda9"),
              HasSubstr("cannot resume a session that another session started"));
  EXPECT_THAT(command_of("codex", "019c6bf1"),
              HasSubstr("CODEX_HOME=" + folder("codex") + " codex resume 019c6bf1-9380-7073-808d-dc2cbc2c2876\n"));
  EXPECT_THAT(command_of("goat", "733d6541"), HasSubstr("no known program resumes sessions of goat"));
}

TEST(ShellQuoting, ProtectsWordsFromTheShellAndTheTerminal) {
  EXPECT_EQ(shell_quoted("/home/sam/a-b_c.d"), "/home/sam/a-b_c.d");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's; $x"), "'it'\\''s; $x'");
  EXPECT_EQ(shell_quoted("gr\u00fcn"), "'gr\u00fcn'");
  EXPECT_EQ(shell_quoted("a\x1b[31m'\n"), "$'a\\033[31m\\'\\012'");
}

}  // namespace
}  // namespace arborfs::cli
