// Which running process may hold which session: the rules of CONTRACT.md 5.2, 5.3, case by case, with processes that
// look like the real agents.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/log_change.h"
#include "core/formats/omp/store/memory_store.h"
#include "core/formats/omp/store/store.h"
#include "core/json/date.h"
#include "core/os/processes.h"
#include "core/session/liveness.h"
#include "core/session/store_state.h"
#include "tests/support/stand_in.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::omp {
namespace {

using testing::PseudoTerminal;
using testing::StandIn;
using testing::StandInLook;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Five sessions. In the working directory `work`:
///   A  named by the breadcrumbs of these tests    B  an old one    E  created since the agents started
/// Elsewhere:
///   C  an old one                                 D  written since the agents started
class AgentLookTest : public ::testing::Test {
 protected:
  AgentLookTest() {
    std::filesystem::create_directories(work());
    std::filesystem::create_directories(elsewhere());
    std::filesystem::create_directories(store.root() + "/terminal-sessions");
    add("A", work(), kLongAgo);
    add("B", work(), kLongAgo);
    add("C", elsewhere(), kLongAgo);
  }
  static constexpr std::int64_t kLongAgo = 3 * 24 * 3600 * kSecond;

  [[nodiscard]] std::string work() const { return store.root() + "/work"; }
  [[nodiscard]] std::string elsewhere() const { return store.root() + "/elsewhere"; }
  static std::string folder_of(const std::string& letter) { return letter < "C" || letter == "E" ? "-work" : "-else"; }
  static std::string id_of(const std::string& letter) { return "0195aaaa-0000-7000-8000-00000000000" + letter; }
  static std::string name_of(const std::string& letter) { return "2026-02-16T10-20-30-000Z_" + id_of(letter); }

  void set_age(const std::string& path, std::int64_t ago_ns) const {
    const std::int64_t then = now_ns() - ago_ns;
    const struct timespec times[2] = {{then / kSecond, then % kSecond}, {then / kSecond, then % kSecond}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }
  void add(const std::string& letter, const std::string& cwd, std::int64_t ago_ns) const {
    const std::string time = json::iso_time((now_ns() - ago_ns) / 1'000'000);
    store.write(folder_of(letter), name_of(letter),
                R"({"type":"session","version":3,"id":")" + id_of(letter) + R"(","timestamp":")" + time +
                    R"(","cwd":")" + cwd + "\"}\n");
    set_age(store.log(folder_of(letter), name_of(letter)), ago_ns);
  }
  /// The changes to the store after the agents have started.
  void add_new_ones() const {
    add("D", elsewhere(), kLongAgo);
    set_age(store.log(folder_of("D"), name_of("D")), 0);
    add("E", work(), 0);
  }
  void leave_breadcrumb(const std::string& name, const std::string& letter, std::int64_t ago_ns = 0) const {
    const std::string path = store.root() + "/terminal-sessions/" + name;
    std::ofstream(path) << work() << "\n" << store.log(folder_of(letter), name_of(letter)).string() << "\n";
    set_age(path, ago_ns);
  }

  [[nodiscard]] StandInLook program(const std::string& name, const std::vector<std::string>& arguments = {}) const {
    StandInLook look;
    look.path = store.root() + "/bin/" + name;
    look.arguments = arguments;
    look.cwd = work();
    look.environment = {{"HOME", store.root()}, {"PI_CODING_AGENT_DIR", store.root()}};
    return look;
  }
  [[nodiscard]] StandInLook on_terminal(StandInLook look) const {
    look.input = terminal.device();
    return look;
  }

  [[nodiscard]] std::filesystem::path log_of(const std::string& letter) const {
    return store.log(folder_of(letter), name_of(letter));
  }
  [[nodiscard]] FileStat stat_of(const std::string& letter) const {
    const auto path = log_of(letter);
    return *Dir::open_root(path.parent_path().string())->stat(path.filename().string());
  }

  /// The letters of the sessions that an agent may hold.
  [[nodiscard]] std::string held() {
    Catalog catalog(open_store(store.root()), "/home/nobody", store.root() + "/state");
    catalog.rescan();
    const auto look = AgentLook::now(*catalog.stores().at(0));
    std::string letters;
    words.clear();
    for (const std::string letter : {"A", "B", "C", "D", "E"}) {
      const auto session = catalog.at({folder_of(letter), name_of(letter) + ".jsonl"});
      const Liveness found = session ? check_liveness(*session, catalog, *look) : Liveness();
      letters += found.state == Liveness::State::quiet ? "" : letter;
      for (const auto& reason : found.reasons) {
        words += letter + ": " + reason + "\n";
      }
    }
    return letters;
  }

  testing::TempStore store;
  PseudoTerminal terminal;
  std::string words;  // of the last held()
};

TEST_F(AgentLookTest, TracesWithoutAnAgentAreIgnored) {
  leave_breadcrumb(terminal.id(), "A");
  add_new_ones();
  EXPECT_EQ(held(), "") << words;
}

TEST_F(AgentLookTest, KnownAgentHoldsItsSessionAndNewOnes) {
  const StandIn omp(on_terminal(program("omp")));
  leave_breadcrumb(terminal.id(), "A");
  add_new_ones();
  EXPECT_EQ(held(), "AE") << words;
  EXPECT_NE(words.find("A: omp (process " + std::to_string(omp.pid()) + ") has it open on terminal " + terminal.id()),
            std::string::npos)
      << words;
}

TEST_F(AgentLookTest, EndedAgentHoldsNothingWhateverTheSignal) {
  for (const int signal : {SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGPIPE}) {
    const StandIn omp(on_terminal(program("omp")));
    leave_breadcrumb(terminal.id(), "A");
    ASSERT_EQ(held(), "A") << words;
    omp.end(signal);
    EXPECT_EQ(held(), "") << "a zombie of signal " << signal << ": " << words;
    omp.reap();
    EXPECT_EQ(held(), "") << "after signal " << signal << ": " << words;
  }
}

// Searches list the processes only if one has started since, which must not hide one that has just started or ended.
TEST_F(AgentLookTest, EachSearchFindsTheAgentsThatRunThen) {
  for (int i = 0; i < 30; ++i) {
    const auto has = [](pid_t pid) {
      const auto running = running_programs(std::chrono::milliseconds(0));
      return std::any_of(running->begin(), running->end(),
                         [&](const RunningProgram& program) { return program.pid == pid && look_at(program, {}); });
    };
    running_programs(std::chrono::milliseconds(0));
    const StandIn agent(program("omp"));  // names its agent dir: other tests run meanwhile
    ASSERT_TRUE(has(agent.pid())) << i;
    ASSERT_TRUE(has(agent.pid())) << "without a new process, " << i;
    agent.end(SIGKILL);
    ASSERT_FALSE(has(agent.pid())) << i;
  }
}

TEST_F(AgentLookTest, SuspendedAgentStillHoldsItsSession) {
  const StandIn omp(on_terminal(program("omp")));
  leave_breadcrumb(terminal.id(), "A");
  omp.stop();
  add_new_ones();
  EXPECT_EQ(held(), "AE") << words;
}

TEST_F(AgentLookTest, BreadcrumbOlderThanTheAgentIsIgnored) {
  leave_breadcrumb(terminal.id(), "C", kLongAgo);
  const StandIn omp(on_terminal(program("omp")));
  add_new_ones();
  EXPECT_EQ(held(), "ABDE") << words;
}

TEST_F(AgentLookTest, BreadcrumbBelongsToTheNewestAgentOfItsTerminal) {
  const StandIn first(on_terminal(program("omp")));
  leave_breadcrumb(terminal.id(), "C");
  first.stop();
  EXPECT_EQ(held(), "C") << words;
  const StandIn second(on_terminal(program("omp")));
  leave_breadcrumb(terminal.id(), "C");
  EXPECT_EQ(held(), "ABC") << "what the first one holds is not known any more: " << words;
}

TEST_F(AgentLookTest, SessionNamedInArgumentsIsHeldFromAnyFolder) {
  const std::string path = store.log(folder_of("A"), name_of("A"));
  const std::vector<std::vector<std::string>> naming = {{"--resume", id_of("A")}, {"--resume=" + id_of("A")},
                                                        {"-r", id_of("A")},       {"--session", path},
                                                        {"--session=" + path},    {"--resume", id_of("A")}};
  for (const auto& arguments : naming) {
    StandInLook look = program("omp", arguments);
    look.cwd = "/";
    const StandIn omp(look);
    EXPECT_EQ(held(), "A") << arguments.front() << ": " << words;
  }
  StandInLook look = program("omp", {"--fork", "0195"});
  look.cwd = "/";
  const StandIn omp(look);
  EXPECT_EQ(held(), "") << "a fork is another session: " << words;
}

TEST_F(AgentLookTest, IdPrefixCountsOnlyAfterAResumeOption) {
  StandInLook look = program("omp", {"--resume", "0195AAAA"});
  look.cwd = "/";
  {
    const StandIn omp(look);
    EXPECT_EQ(held(), "ABC") << words;
  }
  look.arguments = {"0195aaaa"};
  const StandIn omp(look);
  EXPECT_EQ(held(), "") << words;
}

TEST_F(AgentLookTest, UnknownAgentHoldsItsWorkingDirectoryAndGrowingLogs) {
  const std::string script = "/usr/lib/node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js";
  const std::vector<StandInLook> unknown = {program("omp"),
                                            program("pi"),
                                            program("omp-linux-x64"),
                                            program("bun", {script, "-p", "do it"}),
                                            program("bun", {"run", "--silent", "src/omp.ts"}),
                                            program("node", {"--require", "x.js", "/usr/bin/pi"}),
                                            program("nodejs", {"/usr/local/bin/omp"}),
                                            program("bun.exe", {script}),
                                            program(".bun-wrapped", {script}),
                                            program("node22", {script}),
                                            program("omp.exe"),
                                            program(".omp-wrapped")};
  for (const auto& look : unknown) {
    const StandIn agent(look);
    add_new_ones();
    EXPECT_EQ(held(), "ABDE") << look.path << ": " << words;
    std::filesystem::remove_all(store.log(folder_of("D"), name_of("D")));
    std::filesystem::remove_all(store.log(folder_of("E"), name_of("E")));
  }
}

TEST_F(AgentLookTest, ReplacedExecutableIsStillAnAgent) {
  const auto look = program("omp-linux-x64");
  const StandIn omp(look);
  std::filesystem::remove(look.path);
  EXPECT_EQ(held(), "AB") << words;
}

TEST_F(AgentLookTest, OtherProgramsHoldNothing) {
  const std::vector<StandInLook> others = {program("bun", {"server.ts"}),
                                           program("bun", {"test", "omp"}),
                                           program("node", {"app.js", "/usr/bin/omp"}),
                                           program("ompx"),
                                           program("pip"),
                                           program("vim", {name_of("A")})};
  for (const auto& look : others) {
    const StandIn other(look);
    leave_breadcrumb(terminal.id(), "A");
    add_new_ones();
    EXPECT_EQ(held(), "") << look.path << ": " << words;
  }
}

TEST_F(AgentLookTest, ProcessWithAnAgentDatabaseOpenIsAnAgent) {
  StandInLook look = program("my-helper");
  look.open_file = store.root() + "/agent.db";
  {
    const StandIn helper(look);
    EXPECT_EQ(held(), "AB") << words;
  }
  look.open_file = store.root() + "/history.db";
  look.environment.clear();
  {
    const StandIn helper(look);
    EXPECT_EQ(held(), "AB") << words;
  }
  look.open_file = elsewhere() + "/history.db";
  {
    const StandIn helper(look);
    EXPECT_EQ(held(), "") << words;
  }
  look = program("arborfs");
  look.open_file = store.root() + "/history.db";
  const StandIn arborfs(look);
  EXPECT_EQ(held(), "") << words;
}

TEST_F(AgentLookTest, AnyPiMayHoldASessionOfASessionDir) {
  const std::string dir = store.root() + "/flat";
  std::filesystem::create_directories(dir);
  std::filesystem::rename(store.log(folder_of("A"), name_of("A")), dir + "/" + name_of("A") + ".jsonl");
  Catalog catalog(StoreSet(make_store(session_dir_paths(dir), Disk::real(), pi_format(), LogLayout::flat)),
                  "/home/nobody", store.root() + "/state");
  catalog.rescan();
  const auto session = catalog.at({".", name_of("A") + ".jsonl"});
  ASSERT_TRUE(session);
  const auto state = [&] { return check_liveness(*session, catalog, *AgentLook::now(*catalog.stores().at(0))).state; };
  EXPECT_EQ(state(), Liveness::State::quiet);
  StandInLook look = program("pi");
  look.environment["PI_CODING_AGENT_DIR"] = elsewhere();
  {
    const StandIn pi(look);
    EXPECT_NE(state(), Liveness::State::quiet) << "its agent dir does not say where its logs are";
  }
  look.cwd = elsewhere();
  {
    const StandIn pi(look);
    EXPECT_EQ(state(), Liveness::State::quiet) << "it works in another folder";
  }
  look = program("omp");
  look.open_file = elsewhere() + "/agent.db";
  const StandIn omp(look);
  EXPECT_EQ(state(), Liveness::State::quiet) << "omp has no session dir";
}

TEST_F(AgentLookTest, AgentOfAnotherAgentDirIsIgnored) {
  StandInLook look = program("omp");
  look.environment["PI_CODING_AGENT_DIR"] = elsewhere();
  {
    const StandIn omp(look);
    add_new_ones();
    EXPECT_EQ(held(), "") << words;
  }
  look.environment.erase("PI_CODING_AGENT_DIR");
  {
    const StandIn omp(look);
    EXPECT_EQ(held(), "") << words;
  }
  look = program("omp");
  look.open_file = elsewhere() + "/agent.db";
  {
    const StandIn omp(look);
    EXPECT_EQ(held(), "") << "what it has open counts, not what it was told: " << words;
  }
  look.arguments = {"--resume", store.log(folder_of("A"), name_of("A"))};
  const StandIn omp(look);
  EXPECT_EQ(held(), "A") << "unless it is told to open a log of this one: " << words;
}

TEST_F(AgentLookTest, ServerMayHoldSessionsChangedWithinADay) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"acp"}, {"--mode", "rpc"}, {"--mode=rpc-ui", "--model", "x"}}) {
    StandInLook look = program("omp", arguments);
    look.cwd = "/";
    set_age(store.log(folder_of("C"), name_of("C")), 3600 * kSecond);
    const StandIn server(look);
    EXPECT_EQ(held(), "C") << arguments.front() << ": " << words;
  }
  StandInLook look = on_terminal(program("omp", {"--model", "acp"}));
  look.cwd = "/";
  const StandIn omp(look);
  EXPECT_EQ(held(), "") << words;
}

TEST_F(AgentLookTest, EnvironmentIdentifiesTheTerminalWithoutATty) {
  StandInLook look = program("omp");
  look.environment["TMUX_PANE"] = "%3";
  look.environment["KITTY_WINDOW_ID"] = "7";
  {
    const StandIn omp(look);
    leave_breadcrumb("kitty-7", "C");
    leave_breadcrumb("tmux-%3", "B");
    EXPECT_EQ(held(), "B") << words;
  }
  look.environment["ZELLIJ_PANE_ID"] = "2";
  look.environment["ZELLIJ_SESSION_NAME"] = "a/b";
  const StandIn omp(look);
  leave_breadcrumb("zellij-a-b-2", "C");
  EXPECT_EQ(held(), "C") << words;
}

TEST_F(AgentLookTest, LogsMadeByArborfsAreNotHeldUntilAnAgentWrites) {
  const StandIn unknown(program("omp"));
  add_new_ones();
  ASSERT_EQ(held(), "ABDE") << words;
  const std::string log = log_of("E").filename().string();
  WriteMarks marks(store.root() + "/state", store.root() + "/sessions", Disk::real());
  marks.note_made(log, stat_of("E"));
  EXPECT_EQ(held(), "ABD") << words;
  const FileStat before = stat_of("E");
  store.append(folder_of("E"), name_of("E"), "{}\n");
  marks.note_written(log, before, stat_of("E"));
  EXPECT_EQ(held(), "ABD") << "arborfs wrote: " << words;
  store.append(folder_of("E"), name_of("E"), "{}\n");
  EXPECT_EQ(held(), "ABDE") << "somebody else wrote: " << words;
}

TEST_F(AgentLookTest, OwnLastWriteIsNotAttributedToAnAgent) {
  StandInLook look = program("omp");
  look.cwd = "/";
  const StandIn unknown(look);
  const std::string log = log_of("C").filename().string();
  WriteMarks marks(store.root() + "/state", store.root() + "/sessions", Disk::real());
  for (int i = 0; i < 2; ++i) {
    const FileStat before = stat_of("C");
    store.append(folder_of("C"), name_of("C"), "{}\n");
    marks.note_written(log, before, stat_of("C"));
    EXPECT_EQ(held(), "") << words;
  }
  store.append(folder_of("C"), name_of("C"), "{}\n");
  EXPECT_EQ(held(), "C") << words;
}

TEST_F(AgentLookTest, OwnWriteBeforeAnAgentWasNoticedIsNotAttributedToIt) {
  StandInLook look = program("omp");
  look.cwd = "/";
  const StandIn unknown(look);
  const std::string log = log_of("C").filename().string();
  WriteMarks marks(store.root() + "/other", store.root() + "/sessions", Disk::real());
  const std::int64_t agents_write = stat_of("C").mtime_ns;
  for (int i = 0; i < 4; ++i) {
    const FileStat before = stat_of("C");
    store.append(folder_of("C"), name_of("C"), "{}\n");
    marks.note_written(log, before, stat_of("C"));
    EXPECT_EQ(marks.written_by_others(log, stat_of("C")), agents_write);
  }
  store.append(folder_of("C"), name_of("C"), "{}\n");
  EXPECT_EQ(marks.written_by_others(log, stat_of("C")), stat_of("C").mtime_ns) << "somebody else wrote";
}

TEST_F(AgentLookTest, SessionsInMemoryAreOfNoAgent) {
  const StandIn agent(program("omp"));
  EXPECT_FALSE(AgentLook::now(*open_store(store.root()))->is_empty());
  EXPECT_TRUE(AgentLook::now(*make_memory_store())->is_empty());
}

TEST_F(AgentLookTest, MarksAreBoundedInNumber) {
  WriteMarks marks(store.root() + "/state", "store", Disk::real());
  for (std::size_t i = 0; i < WriteMarks::kMost + 50; ++i) {
    marks.note_made("log" + std::to_string(i), FileStat{});
  }
  const auto folder = Dir::open_root(store.root() + "/state/marks");
  ASSERT_TRUE(folder);
  EXPECT_LE(folder->list()->size(), WriteMarks::kMost);
}

TEST_F(AgentLookTest, RememberedWritesAreBoundedInNumber) {
  WriteMarks marks("", "store", Disk::real());
  FileStat before;
  FileStat after;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(WriteMarks::kMost) + 50; ++i) {
    before.mtime_ns = 2 * i + 1;
    after.mtime_ns = 2 * i + 2;
    marks.note_written("log" + std::to_string(i), before, after);
  }
  EXPECT_EQ(marks.written_by_others("log" + std::to_string(WriteMarks::kMost + 49), after), before.mtime_ns);
  after.mtime_ns = 2;
  EXPECT_EQ(marks.written_by_others("log0", after), 2) << "the oldest is forgotten";
}

TEST_F(AgentLookTest, AWriteIsRememberedIfItsMarkCannotBeKept) {
  WriteMarks marks("", "store", Disk::real());
  FileStat before;
  FileStat after;
  before.mtime_ns = 1;
  after.mtime_ns = 2;
  marks.note_written("log", before, after);
  EXPECT_EQ(marks.written_by_others("log", after), before.mtime_ns);
}

TEST_F(AgentLookTest, LeaseMakesASessionLive) {
  const testing::Variable home("HOME", store.root());
  const std::string path = store.root() + "/.omp/run/session-owners/" + id_of("B") + ".lock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "omp-file-lock-%016llx%016llx",
                                   static_cast<unsigned long long>(xxh64(path, 0x4F4D502D4C4F434B)),
                                   static_cast<unsigned long long>(xxh64(path, 0x50492D46494C454C)));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  {
    const UniqueFd lease(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(lease.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(held(), "B") << words;
    EXPECT_NE(words.find("lease"), std::string::npos) << words;
    const GateProbe gates;
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(gates.is_held(path)) << i;
      EXPECT_FALSE(gates.is_held(path + "x")) << i;
    }
  }
  EXPECT_EQ(held(), "") << words;
  const UniqueFd next(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(next.get(), reinterpret_cast<const sockaddr*>(&address), size), 0) << "looking took nothing";
}

}  // namespace
}  // namespace arborfs::omp
