// The signs by which sessions of agents other than omp and pi are live, case by case (CONTRACT.md 5.6), with processes
// that look like the agents' programs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/registry.h"
#include "core/os/processes.h"
#include "core/session/liveness.h"
#include "tests/support/child.h"
#include "tests/support/stand_in.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

using testing::StandIn;
using testing::StandInLook;
using State = Liveness::State;

constexpr const char* kOne = "11111111-1111-4111-8111-111111111111";
constexpr const char* kOther = "22222222-2222-4222-8222-222222222222";

/// One agent's folder with two sessions, `kOne` and `kOther`, both of the working directory work().
class ProgramLookTest : public ::testing::Test {
 protected:
  ProgramLookTest() { std::filesystem::create_directories(work()); }

  [[nodiscard]] std::string home() const { return store.root() + "/home"; }
  [[nodiscard]] std::string work() const { return store.root() + "/work"; }
  [[nodiscard]] std::string dir() const { return home() + place; }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = dir() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string add_claude(const std::string& id) const {
    return write("projects/-work/" + id + ".jsonl",
                 R"({"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"x"},)"
                 R"("uuid":"a","timestamp":"2026-01-02T03:04:05.678Z","cwd":")" +
                     work() + R"(","sessionId":")" + id + "\"}\n");
  }
  std::string add_codex(const std::string& id) const {
    return write("sessions/2026/11/22/rollout-2026-11-22T10-00-00-" + id + ".jsonl",
                 R"({"timestamp":"2026-11-22T10:00:00.000Z","type":"session_meta","payload":{"id":")" + id +
                     R"(","cwd":")" + work() + R"(","timestamp":"2026-11-22T10:00:00.000Z"}})" + "\n");
  }
  std::string add_goat(const std::string& id) const {
    write(id + "/metadata.json", R"({"id":")" + id + R"(","cwd":")" + work() + "\"}");
    return write(id + "/messages.jsonl", R"({"uuid":"a","message":{"role":"user","content":"x"}})"
                                         "\n");
  }
  std::string add_opal(const std::string& id) const {
    return write("sessions/" + id + ".jsonl", R"({"session_id":")" + id +
                                                  R"(","current_id":null,"metadata":{}})"
                                                  "\n");
  }
  /// Of the time of JSON files.
  void add_opencode(const std::string& id, const std::string& last_message) const {
    write("storage/session/p/" + id + ".json", R"({"id":")" + id + R"(","directory":")" + work() + "\"}");
    write("storage/message/" + id + "/msg_a.json", last_message);
  }

  [[nodiscard]] StandInLook program(const std::string& name, const std::vector<std::string>& arguments = {}) const {
    StandInLook look;
    look.path = store.root() + "/bin/" + name;
    look.arguments = arguments;
    look.cwd = work();
    look.environment = {{"HOME", home()}};
    return look;
  }

  /// "one: live, other: quiet" and the reasons of `kOne`.
  std::string states(const std::string& agent) {
    auto stores = open_stores({{agent, dir(), false}}, Access::look);
    EXPECT_TRUE(stores) << stores.error().message;
    Catalog catalog(std::move(*stores), home(), store.root() + "/state");
    catalog.rescan();
    static_cast<void>(
        running_programs(std::chrono::milliseconds(0)));  // else a list from before the last change might be used
    std::string one;
    std::string other;
    for (const auto& [id, session] : catalog.view()->by_id) {
      EXPECT_TRUE(session->refresh(Depth::index)) << id;
      const Liveness found = check_liveness(*session, catalog);
      const bool is_one = session->head().header.id.find(kOne) != std::string::npos;
      (is_one ? one : other) = liveness_word(found.state);
      words = is_one ? found.reasons : words;
    }
    return "one: " + one + ", other: " + other;
  }

  testing::TempStore store;
  testing::Variable state{"XDG_STATE_HOME", store.root() + "/state"};
  std::string place = "/state";  // the agent's folder, below home()
  std::vector<std::string> words;
};

std::string ticks_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::vector<std::string> all{std::istream_iterator<std::string>(fields), {}};
  return all.at(19);
}

TEST_F(ProgramLookTest, ProgramInTheWorkingDirectoryMayHoldItsSessions) {
  add_claude(kOne);
  add_claude(kOther);
  EXPECT_EQ(states("claude"), "one: quiet, other: quiet");
  StandInLook look = program("claude");
  look.environment["CLAUDE_CONFIG_DIR"] = dir();
  const StandIn claude(look);
  EXPECT_EQ(states("claude"), "one: maybe, other: maybe");
  EXPECT_EQ(words, std::vector{"claude (process " + std::to_string(claude.pid()) + ") runs in its working directory"});
}

// The kernel shows a program's name before its arguments and environment.
TEST_F(ProgramLookTest, ProgramThatIsStillBeingLoadedHasNoFactsYet) {
  int without_environment = 0;
  testing::look_while_starting(program("goat"), [&] {
    constexpr std::string_view kVariables[] = {"HOME"};
    for (const RunningProgram& running : *running_programs(std::chrono::milliseconds(0))) {
      const auto facts = running.name == "goat" ? look_at(running, kVariables) : std::nullopt;
      without_environment += facts && facts->cwd == work() && facts->environment.empty() ? 1 : 0;
    }
  });
  EXPECT_EQ(without_environment, 0);
}

TEST_F(ProgramLookTest, ProgramOfAnotherFolderOrDirectoryHoldsNothing) {
  add_claude(kOne);
  add_claude(kOther);
  const StandIn elsewhere(program("claude"));  // its folder is ~/.claude
  StandInLook look = program("claude");
  look.environment["CLAUDE_CONFIG_DIR"] = dir();
  look.cwd = "/";
  const StandIn other(look);
  EXPECT_EQ(states("claude"), "one: quiet, other: quiet");
}

TEST_F(ProgramLookTest, ArgumentsNameASession) {
  add_claude(kOne);
  add_claude(kOther);
  StandInLook look = program("node", {"/x/node_modules/@anthropic-ai/claude-code/cli.js", "--resume", kOne});
  look.environment["CLAUDE_CONFIG_DIR"] = dir();
  look.cwd = "/";
  const StandIn claude(look);
  EXPECT_EQ(states("claude"), "one: maybe, other: quiet");
}

TEST_F(ProgramLookTest, NamesOfProgramsMayHaveWhatInstallersAdd) {
  add_claude(kOne);
  add_claude(kOther);
  const std::string script = "/x/node_modules/@anthropic-ai/claude-code/cli.js";
  for (StandInLook look : {program("bun.exe", {script}), program("node22", {script}),
                           program(".node-wrapped", {script}), program("claude.exe"), program(".claude-wrapped")}) {
    look.environment["CLAUDE_CONFIG_DIR"] = dir();
    const StandIn claude(look);
    EXPECT_EQ(states("claude"), "one: maybe, other: maybe") << look.path;
  }
  for (StandInLook look : {program("bunny", {script}), program("claude.exe.txt"), program("claude-wrapped")}) {
    look.environment["CLAUDE_CONFIG_DIR"] = dir();
    const StandIn other(look);
    EXPECT_EQ(states("claude"), "one: quiet, other: quiet") << look.path;
  }
}

TEST_F(ProgramLookTest, ClaudeSaysWhichSessionItHas) {
  add_claude(kOne);
  add_claude(kOther);
  StandInLook look = program("claude");
  look.environment["CLAUDE_CONFIG_DIR"] = dir();
  const StandIn claude(look);
  const std::string pid = std::to_string(claude.pid());
  const auto say = [&](const std::string& start) {
    write("sessions/" + pid + ".json",
          R"({"pid":)" + pid + R"(,"sessionId":")" + kOne + R"(","procStart":")" + start + "\"}");
  };
  say(ticks_of(claude.pid()));
  EXPECT_EQ(states("claude"), "one: live, other: quiet");
  EXPECT_EQ(words, std::vector{"claude (process " + pid + ") has it open"});
  say("1");  // of an earlier process with that number
  EXPECT_EQ(states("claude"), "one: maybe, other: maybe");
}

TEST_F(ProgramLookTest, FileOfAKilledClaudeMeansNothing) {
  add_claude(kOne);
  add_claude(kOther);
  const StandIn claude(program("claude"));
  const std::string pid = std::to_string(claude.pid());
  write("sessions/" + pid + ".json",
        R"({"pid":)" + pid + R"(,"sessionId":")" + kOne + R"(","procStart":")" + ticks_of(claude.pid()) + "\"}");
  EXPECT_EQ(states("claude"), "one: live, other: quiet");
  claude.end(SIGKILL);
  EXPECT_EQ(states("claude"), "one: quiet, other: quiet") << "also while it is a zombie";
}

TEST_F(ProgramLookTest, DamagedFilesOfClaudeAreIgnored) {
  add_claude(kOne);
  add_claude(kOther);
  write("sessions/1.json", "{\"sessionId\":");
  write("sessions/2.json", R"({"sessionId":7,"procStart":[]})");
  write("sessions/99999999999999999999.json", "{}");
  write("sessions/12.abc.key", "secret");
  EXPECT_EQ(states("claude"), "one: quiet, other: quiet");
}

TEST_F(ProgramLookTest, ProcessWithTheFileOpenForWritingHoldsTheSession) {
  using Add = std::function<std::string(const std::string&)>;
  const std::vector<std::pair<std::string, Add>> agents = {
      {"claude", [&](const std::string& id) { return add_claude(id); }},
      {"codex", [&](const std::string& id) { return add_codex(id); }},
      {"goat", [&](const std::string& id) { return add_goat(id); }},
      {"opal", [&](const std::string& id) { return add_opal(id); }}};
  for (const auto& [agent, add] : agents) {
    std::filesystem::remove_all(dir());
    StandInLook look = program("some-program");
    look.cwd = "/";
    look.open_file = add(kOne);
    add(kOther);
    const StandIn writer(look);
    EXPECT_EQ(states(agent), "one: live, other: quiet") << agent;
    EXPECT_EQ(words, std::vector<std::string>{"another process has the log open for writing"}) << agent;
  }
}

TEST_F(ProgramLookTest, GoatHoldsTheLockOfOneSession) {
  add_goat(kOne);
  add_goat(kOther);
  const std::string lock = write(std::string(kOne) + "/messages.jsonl.lock", "");
  EXPECT_EQ(states("goat"), "one: quiet, other: quiet");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const testing::Child goat([&] {
    const bool is_held = ::flock(::open(lock.c_str(), O_RDWR | O_CLOEXEC), LOCK_EX) == 0;
    static_cast<void>(!::write(ready[1], is_held ? "y" : "n", 1));
    ::pause();
  });
  char held = 'n';
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  ASSERT_EQ(held, 'y');
  EXPECT_EQ(states("goat"), "one: live, other: quiet");
  EXPECT_EQ(words, std::vector<std::string>{"another process holds messages.jsonl.lock"});
  ::close(ready[0]);
  ::close(ready[1]);
}

// Codex leaves a service behind when it ends, in the folder in which it was started.
TEST_F(ProgramLookTest, ServiceOfCodexHoldsOnlyTheThreadWhoseLockItHas) {
  add_codex(kOne);
  add_codex(kOther);
  const std::string lock = write("thread-writer-locks/" + std::string(kOne) + ".lock", "");
  StandInLook look = program("codex", {"app-server", "--managed-daemon"});
  look.environment["CODEX_HOME"] = dir();
  const StandIn service(look);
  EXPECT_EQ(states("codex"), "one: quiet, other: quiet");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const testing::Child holder([&] {
    const bool is_held = ::flock(::open(lock.c_str(), O_RDWR | O_CLOEXEC), LOCK_EX) == 0;
    static_cast<void>(!::write(ready[1], is_held ? "y" : "n", 1));
    ::pause();
  });
  char held = 'n';
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  ASSERT_EQ(held, 'y');
  EXPECT_EQ(states("codex"), "one: live, other: quiet");
  EXPECT_EQ(words, std::vector{"codex (process " + std::to_string(holder.pid()) + ") has the thread loaded"});
  look.arguments.clear();
  const StandIn terminal(look);
  EXPECT_EQ(states("codex"), "one: live, other: maybe");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(ProgramLookTest, AnOwnLockIsNoSignOfGoat) {
  add_goat(kOne);
  add_goat(kOther);
  const UniqueFd held(::open(write(std::string(kOne) + "/messages.jsonl.lock", "").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  EXPECT_EQ(states("goat"), "one: quiet, other: quiet");
}

TEST_F(ProgramLookTest, AnswerWithoutAnEndIsLiveWhileOpenCodeRuns) {
  place = "/.local/share/opencode";
  add_opencode(std::string("ses_") + kOne, R"({"id":"msg_a","role":"assistant","time":{"created":1}})");
  add_opencode(std::string("ses_") + kOther, R"({"id":"msg_a","role":"assistant","time":{"created":1,"completed":2}})");
  EXPECT_EQ(states("opencode"), "one: quiet, other: quiet");
  StandInLook look = program("opencode");
  look.cwd = "/";
  const StandIn opencode(look);
  EXPECT_EQ(states("opencode"), "one: live, other: quiet");
  EXPECT_EQ(words, std::vector<std::string>{"opencode is answering in it"});
  write("storage/message/" + std::string("ses_") + kOne + "/msg_b.json", R"({"id":"msg_b","role":"user"})");
  EXPECT_EQ(states("opencode"), "one: live, other: quiet") << "a message of the user waits behind the answer";
}

TEST_F(ProgramLookTest, OpalMayHoldWhatWasWrittenSinceItStarted) {
  add_opal(kOne);
  const std::string other = add_opal(kOther);
  const auto runs = [&](const std::string& root) {
    StandInLook look = program("beam.smp", {"-root", root, "-boot", "start"});
    look.cwd = "/";
    look.environment["OPAL_DATA_DIR"] = dir();
    return look;
  };
  std::filesystem::last_write_time(other, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 365));
  {
    const StandIn another(runs("/usr/lib/erlang"));
    add_opal(kOne);
    EXPECT_EQ(states("opal"), "one: quiet, other: quiet") << "a program that is not Opal";
  }
  const StandIn opal(runs("/home/u/.local/share/.burrito/opal_server_erts-15.0_0.1.0"));
  std::filesystem::last_write_time(dir() + "/sessions/" + kOne + ".jsonl",
                                   std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1));
  EXPECT_EQ(states("opal"), "one: maybe, other: quiet");
}

}  // namespace
}  // namespace arborfs
