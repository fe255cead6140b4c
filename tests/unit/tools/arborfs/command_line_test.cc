// Whole command lines, run inside this process against a terminal of strings.

#include "tools/arborfs/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/json/document.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::FakeTerminal;
using ::arborfs::testing::TempStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kFolder[] = "-src-kite";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";
constexpr char kId[] = "aaaa000011112222";

class CommandLineTest : public ::testing::Test {
 protected:
  int run(const std::vector<std::string>& words) { return terminal.run(words); }
  int run_here(std::vector<std::string> words) {
    words.push_back("--agent-dir=" + store.root());
    return run(words);
  }
  CommandLine read(std::vector<std::string> words) {
    std::vector<const char*> argv{"arborfs"};
    for (const auto& word : words) {
      argv.push_back(word.c_str());
    }
    return read_command_line(static_cast<int>(argv.size()), argv.data(), terminal.io);
  }
  [[nodiscard]] std::string out() const { return terminal.out.str(); }
  [[nodiscard]] std::string err() const { return terminal.err.str(); }
  json::Document parsed() {
    json::Document document;
    EXPECT_TRUE(json::parse(out(), document)) << out();
    return document;
  }

  void write_two_entries() {
    store.write(kFolder, kName,
                TempStore::header(kId, "/home/dev/src/kite") + "\n" + TempStore::user("e1e1e1e1", "", "first words") +
                    "\n" + TempStore::user("e2e2e2e2", "e1e1e1e1", "second") + "\n");
  }
  /// Makes the files of a folder old enough to count as not being written.
  void age(const std::string& folder) const {
    for (const auto& entry : std::filesystem::directory_iterator(store.sessions() / folder)) {
      std::filesystem::last_write_time(entry.path(),
                                       std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    }
  }

  TempStore store;
  testing::Variable state{"XDG_STATE_HOME", store.root() + "/state"};
  FakeTerminal terminal;
};

TEST_F(CommandLineTest, HelpAndVersionSucceed) {
  EXPECT_EQ(run({"--help"}), kDone);
  EXPECT_THAT(out(), HasSubstr("Usage: arborfs"));
  EXPECT_EQ(run({"ls", "--help"}), kDone);
  EXPECT_THAT(out(), HasSubstr("--limit"));
  for (const char* option : {"--version", "-V"}) {
    EXPECT_EQ(run({option}), kDone);
    EXPECT_THAT(out(), StartsWith("arborfs "));
  }
  EXPECT_THAT(err(), IsEmpty());
}

TEST_F(CommandLineTest, WrongUsageExitsWithTwo) {
  for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                 {"shw", "latest"},
                                                                 {"show"},
                                                                 {"show", "a", "b"},
                                                                 {"ls", "-n", "many"},
                                                                 {"ls", "-n", "-5"},
                                                                 {"ls", "--limit=-5"},
                                                                 {"ls", "-n", ""},
                                                                 {"new", ""},
                                                                 {"new", "--model", "justname"},
                                                                 {"new", "--model="},
                                                                 {"ls", "--nothing"},
                                                                 {"completion", "csh"},
                                                                 {"append"},
                                                                 {"append", "latest", "text", "-f", "file"},
                                                                 {"append", "latest", "a", "b"},
                                                                 {"append", "latest", "a", "--durability=some"},
                                                                 {"branch", "latest"},
                                                                 {"label", "latest"},
                                                                 {"title", "latest"},
                                                                 {"rm"},
                                                                 {"restore", "a", "b"},
                                                                 {"mount"}}) {
    EXPECT_EQ(run(words), kUsage);
    EXPECT_THAT(err(), HasSubstr("--help"));
    EXPECT_THAT(out(), IsEmpty());
  }
  run({"shw", "latest"});
  EXPECT_THAT(err(), HasSubstr("unknown verb 'shw'"));
}

TEST_F(CommandLineTest, TwoPlainArgumentsMountAsInFstab) {
  const auto own = read({"none", "/mnt/x", "-o", "rw,dev,suid"});
  EXPECT_EQ(own.run, &run_mount);
  EXPECT_EQ(own.mountpoint, "/mnt/x");
  EXPECT_EQ(own.agent_dir, "");
  EXPECT_THAT(own.mount_options, ElementsAre("rw,dev,suid"));
  EXPECT_EQ(read({"", "/mnt/x"}).run, &run_mount);
  EXPECT_EQ(read({"arborfs", "/mnt/x"}).agent_dir, "");
  EXPECT_EQ(read({"mount", "--store", "omp=/x", "/mnt/x"}).mountpoint, "/mnt/x") << "each --store takes one word";
  EXPECT_EQ(read({"mount", "--store", "omp=/x", "/mnt/x", "-o", "ro"}).mountpoint, "/mnt/x");
  EXPECT_EQ(read({"mount", "-o", "ro", "/mnt/x"}).mountpoint, "/mnt/x");
  const auto other = read({store.root(), "/mnt/x", "-o", "ro", "-o", "xattr"});
  EXPECT_EQ(other.agent_dir, store.root());
  EXPECT_THAT(other.mount_options, ElementsAre("ro", "xattr"));
}

TEST_F(CommandLineTest, UnknownMountOptionIsAUsageError) {
  EXPECT_EQ(run({"mount", "-o", "nosuchoption", "/nowhere"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("nosuchoption"));
}

TEST_F(CommandLineTest, UmountReportsThatNothingIsMounted) {
  EXPECT_EQ(run({"umount", store.root() + "/nope"}), kDone);
  EXPECT_THAT(out(), IsEmpty());
  EXPECT_THAT(err(), HasSubstr("nothing is mounted on " + store.root()));
  EXPECT_EQ(run({"umount", "--json", store.root()}), kDone);
  EXPECT_EQ(out(), "{\"unmounted\":null}\n");
  EXPECT_THAT(err(), HasSubstr("nothing is mounted on " + store.root()));
}

TEST_F(CommandLineTest, MissingStoreAndEmptyStoreDiffer) {
  EXPECT_EQ(run_here({"ls"}), kDone);
  std::filesystem::remove(store.sessions());
  EXPECT_EQ(run_here({"ls"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no sessions folder at"));
}

TEST_F(CommandLineTest, LsListsSessions) {
  write_two_entries();
  EXPECT_EQ(run_here({"ls"}), kDone);
  EXPECT_THAT(out(), HasSubstr("src-kite"));
  EXPECT_THAT(out(), HasSubstr("first words")) << "the first message stands for a missing title";
  EXPECT_THAT(out(), Not(HasSubstr("\x1b"))) << "no colour where nobody looks";
}

TEST_F(CommandLineTest, LsFitsTheTerminalWidth) {
  const std::string long_title = "a title that is much longer than any line of such a narrow terminal can be";
  store.write(kFolder, kName,
              R"({"type":"session","version":3,"id":"x1","cwd":"/home/dev/src/kite","title":")" + long_title + "\"}\n");
  EXPECT_EQ(run_here({"ls"}), kDone);
  EXPECT_THAT(out(), HasSubstr(long_title));
  terminal.io.out_is_terminal = true;
  terminal.io.width = 72;
  terminal.variables["NO_COLOR"] = "1";
  EXPECT_EQ(run_here({"ls"}), kDone);
  std::istringstream lines(out());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(columns_of(line), 72U) << line;
  }
  terminal.variables.erase("NO_COLOR");
  EXPECT_EQ(run_here({"ls"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\x1b[1m"));
}

TEST_F(CommandLineTest, LsJsonIsOneArray) {
  write_two_entries();
  EXPECT_EQ(run_here({"ls", "--json"}), kDone);
  const auto rows = parsed();
  ASSERT_EQ(rows.Size(), 1U);
  EXPECT_EQ(json::string_member(rows[0], "session"), kId);
  EXPECT_EQ(json::string_member(rows[0], "agent"), "omp");
  EXPECT_EQ(json::string_member(rows[0], "cwd"), "/home/dev/src/kite");
  EXPECT_GT(json::member(rows[0], "bytes")->GetDouble(), 0);
}

TEST_F(CommandLineTest, LsLimitsAndFilters) {
  write_two_entries();
  store.write("-other", "2026-02-16T10-20-30-000Z_bbbb", TempStore::header("bbbb", "/home/dev/other") + "\n");
  EXPECT_EQ(run_here({"ls", "-q", "-n", "1"}), kDone);
  EXPECT_TRUE(out() == std::string(kId) + "\n" || out() == "bbbb\n") << out();
  EXPECT_EQ(run_here({"ls", "-q", "-p", "other"}), kDone);
  EXPECT_EQ(out(), "bbbb\n");
  EXPECT_EQ(run_here({"ls", "-q", "-p", "/home/dev/other"}), kDone);
  EXPECT_EQ(out(), "bbbb\n");
  EXPECT_EQ(run_here({"ls", "-p", "nosuch"}), kFailed);
  EXPECT_EQ(err(), "arborfs: no project is named 'nosuch'; 'arborfs ls' lists all projects\n");
}

TEST_F(CommandLineTest, LsSelectsAnAgent) {
  constexpr char kOfPi[] = "01a1ffda-dc19-779e-873a-5cc104ef1649";
  write_two_entries();
  store.write(kFolder, "of-pi", TempStore::header(kOfPi, "/home/dev/other") + "\n");
  EXPECT_EQ(run_here({"ls", "-q", "-a", "pi"}), kDone);
  EXPECT_EQ(out(), std::string(kOfPi) + "\n");
  EXPECT_EQ(run_here({"ls", "-a", "omp", "--json"}), kDone);
  EXPECT_EQ(json::string_member(parsed()[0], "agent"), "omp");
  EXPECT_EQ(run_here({"ls", "-a", "nosuch"}), kFailed);
  EXPECT_EQ(err(), "arborfs: there are no sessions of 'nosuch'; there are sessions of omp and pi\n");
  EXPECT_EQ(run_here({"ls", "-a", "pi", "-p", "kite"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no sessions of pi in a project named 'kite'"));
}

TEST_F(CommandLineTest, BadLogHidesNoOther) {
  write_two_entries();
  store.write(kFolder, "2026-02-16T10-20-31-000Z_cccc", "no json at all\n");
  EXPECT_EQ(run_here({"ls"}), kDone);
  EXPECT_THAT(out(), HasSubstr("first words"));
  EXPECT_THAT(out(), HasSubstr("! "));
}

TEST_F(CommandLineTest, ShowReportsTheWholeSession) {
  write_two_entries();
  EXPECT_EQ(run_here({"show", "latest"}), kDone);
  EXPECT_THAT(out(), HasSubstr(kId));
  EXPECT_THAT(out(), HasSubstr("(user 2)"));
  EXPECT_THAT(out(), HasSubstr("000002-user-e2e2e2e2"));
  EXPECT_EQ(run_here({"show", "aaaa0000", "--json"}), kDone);
  const auto shown = parsed();
  EXPECT_EQ(json::string_member(*json::member(shown, "header"), "id"), kId);
  EXPECT_EQ(json::member(*json::member(shown, "counts"), "user")->GetDouble(), 2);
}

TEST_F(CommandLineTest, ASessionWithoutAHeaderIsFoundByTheIdInItsName) {
  store.write(kFolder, kName, TempStore::user("e1e1e1e1", "", "first words") + "\n");
  for (const std::string id : {"aaaa0000", kId, "omp:aaaa0000"}) {
    EXPECT_EQ(run_here({"text", id}), kDone) << id << ": " << err();
    EXPECT_THAT(out(), HasSubstr("first words"));
  }
  EXPECT_EQ(run_here({"doctor", "--repair", "aaaa0000"}), kDone) << err();
  EXPECT_EQ(run_here({"show", "aaaa0000", "--json"}), kDone) << err();
  EXPECT_EQ(json::string_member(*json::member(parsed(), "header"), "id"), kId);
}

TEST_F(CommandLineTest, MissingSessionFails) {
  write_two_entries();
  EXPECT_EQ(run_here({"show", "ffff"}), kFailed);
  EXPECT_EQ(err(), "arborfs: no session has an id that starts with 'ffff'; 'arborfs ls' lists the sessions\n");
  for (const std::string path : {"./ffff", "/nowhere", "ffff.jsonl", "."}) {
    EXPECT_EQ(run_here({"show", path}), kFailed);
    EXPECT_EQ(err(), "arborfs: no session of this store is at " + path + "\n");
  }
  EXPECT_EQ(run_here({"text", "latest", "#9"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("'#9'"));
}

TEST_F(CommandLineTest, TextAndTreeAreShown) {
  write_two_entries();
  EXPECT_EQ(run_here({"text", kId}), kDone);
  EXPECT_THAT(out(), HasSubstr("first words"));
  EXPECT_EQ(run_here({"text", kId, "e2e2e2e2"}), kDone);
  EXPECT_EQ(out(), "second\n");
  EXPECT_EQ(run_here({"text", kId, "2", "--json"}), kDone);
  EXPECT_EQ(json::string_member(parsed(), "text"), "second\n");
  EXPECT_EQ(run_here({"tree", kId}), kDone);
  EXPECT_THAT(out(), HasSubstr("000002 user e2e2e2e2"));
  EXPECT_EQ(run_here({"tree", kId, "--json"}), kDone);
  EXPECT_EQ(parsed().Size(), 2U);
}

TEST_F(CommandLineTest, ContextIsTheSameWithAndWithoutJson) {
  write_two_entries();
  EXPECT_EQ(run_here({"context", kId}), kDone);
  std::string as_is;
  json::canonicalize(std::string_view(terminal.out.str()).substr(0, out().find_last_not_of('\n') + 1), as_is);
  EXPECT_EQ(run_here({"context", kId, "--json"}), kDone);
  EXPECT_EQ(out(), as_is + "\n");
  EXPECT_EQ(run_here({"context", kId, "#1"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("second")));
}

TEST_F(CommandLineTest, S4LogContentCannotControlTheTerminal) {
  store.write(kFolder, kName,
              TempStore::header(kId, "/home/dev/src/kite") + "\n" +
                  TempStore::user("e1e1e1e1", "",
                                  "red \\u001b[31m and \xc2\x9b"
                                  "31m and \xe2\x80\xae reversed") +
                  "\n");
  terminal.io.out_is_terminal = true;
  terminal.variables["NO_COLOR"] = "1";
  for (const char* verb : {"ls", "show", "tree", "context", "text", "doctor"}) {
    for (const bool json : {false, true}) {
      std::vector<std::string> words{verb};
      if (std::string(verb) != "ls") {
        words.emplace_back("latest");
      }
      if (json) {
        words.emplace_back("--json");
      }
      run_here(words);
      EXPECT_THAT(out(), Not(HasSubstr("\x1b"))) << verb;
      EXPECT_THAT(out(), Not(HasSubstr("\xc2\x9b"))) << verb << (json ? " --json" : "");
      EXPECT_THAT(out(), Not(HasSubstr("\xe2\x80\xae"))) << verb << (json ? " --json" : "");
    }
  }
}

TEST_F(CommandLineTest, DoctorFindsNothingInAnIntactStore) {
  write_two_entries();
  EXPECT_EQ(run_here({"doctor"}), kDone);
  EXPECT_EQ(out(), "1 session examined, no damage found\n");
}

TEST_F(CommandLineTest, DoctorFindsDamageInLogs) {
  const std::string hash(64, '5');
  store.write(kFolder, kName,
              TempStore::header(kId, "/home/dev/src/kite") + "\n" + TempStore::user("e1", "gone", "one") + "\n" +
                  "{\"torn\n" + std::string(100, '\0') + "\n" + TempStore::user("e1", "e1", "two") + "behind it\n" +
                  R"({"type":"label","id":"l1","parentId":"e1","targetId":"nowhere","label":"lost"})" + "\n" +
                  R"({"type":"custom","id":"c1","parentId":"l1","data":"blob:sha256:)" + hash + "\"}\n" +
                  "{\"type\":\"mess");
  age(kFolder);
  EXPECT_EQ(run_here({"doctor", "--json"}), kFailed);
  const auto report = parsed();
  std::multimap<std::string, std::string> found;
  for (const auto& finding : json::member(report, "findings")->GetArray()) {
    found.emplace(*json::string_member(finding, "kind"), *json::string_member(finding, "text"));
  }
  for (const char* kind : {"orphan", "malformed_line", "nul_run", "fused_line", "duplicate_id", "dangling_label",
                           "missing_blob", "torn_tail"}) {
    EXPECT_EQ(found.count(kind), 1U) << kind;
  }
  EXPECT_EQ(run_here({"doctor"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("1 session examined"));
}

TEST_F(CommandLineTest, DoctorFindsLeftoverFiles) {
  write_two_entries();
  const auto folder = store.sessions() / kFolder;
  std::ofstream(folder / (std::string(kName) + ".jsonl.1.bak")) << "x";
  std::ofstream(folder / ("." + std::string(kName) + ".jsonl.1.tmp")) << "x";
  std::ofstream(folder / ("." + std::string(kName) + ".jsonl.lock")) << "999999999:1\n";
  age(kFolder);
  EXPECT_EQ(run_here({"doctor", kId}), kFailed);
  for (const char* kind : {"leftover_backup", "leftover_temporary", "stale_lock"}) {
    EXPECT_THAT(out(), HasSubstr(kind));
  }
  std::ofstream(folder / ("." + std::string(kName) + ".jsonl.lock")) << ::getpid() << ":1\n";
  run_here({"doctor"});
  EXPECT_THAT(out(), Not(HasSubstr("stale_lock"))) << "a lock that is held is no finding";
}

TEST_F(CommandLineTest, DoctorReportsALogWithoutHeader) {
  store.write(kFolder, kName, TempStore::user("e1", "", "one") + "\n");
  EXPECT_EQ(run_here({"doctor"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("bad_header"));
}

TEST_F(CommandLineTest, DoctorRepairsOnRequest) {
  const std::string whole =
      TempStore::header(kId, "/home/dev/src/kite") + "\n" + TempStore::user("e1", "", "one") + "\n";
  store.write(kFolder, kName, whole + "{\"type\":\"mess");
  age(kFolder);
  EXPECT_EQ(run_here({"doctor", "-n"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("to repair: cut out 13 bytes at offset"));
  EXPECT_EQ(run_here({"doctor", "--force"}), kUsage);
  EXPECT_EQ(run_here({"doctor", "--repair"}), kDone);
  EXPECT_THAT(out(), HasSubstr("  repaired: cut out 13 bytes at offset"));
  EXPECT_THAT(out(), HasSubstr("  as it was: " + store.root() + "/state/arborfs/repaired/"));
  EXPECT_THAT(out(), HasSubstr("1 finding in 1 file, none left"));
  EXPECT_EQ(run_here({"doctor"}), kDone);
}

TEST_F(CommandLineTest, DoctorCountsRemainingDamage) {
  store.write(kFolder, kName,
              TempStore::header(kId, "/home/dev/src/kite") + "\n" + TempStore::user("e1", "gone", "one") + "\n#\n");
  age(kFolder);
  EXPECT_EQ(run_here({"doctor", "--repair", "--json"}), kFailed);
  const auto report = parsed();
  EXPECT_EQ(json::member(report, "left")->GetDouble(), 1);
  EXPECT_EQ(json::member(report, "mended")->Size(), 1U);
}

TEST_F(CommandLineTest, DoctorExplainsRefusedRepairs) {
  store.write(kFolder, kName, "{\"type\":\"session\",\"version\":9,\"id\":\"x\"}\n#\n");
  age(kFolder);
  EXPECT_EQ(run_here({"doctor", "--repair"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("not repaired: arborfs does not write to logs of a version above 3"));
}

TEST_F(CommandLineTest, CompletionPrintsTheScript) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(run({"completion", shell}), kDone);
    EXPECT_THAT(out(), HasSubstr("arborfs ls --json"));
  }
  EXPECT_EQ(run({"completion", "fish", "--json"}), kDone);
  EXPECT_EQ(json::string_member(parsed(), "shell"), "fish");
}

TEST_F(CommandLineTest, StoresAreListedWithTheirState) {
  write_two_entries();
  const TempStore other;
  std::filesystem::remove_all(other.sessions());
  std::ofstream(other.sessions()) << "no folder";
  ASSERT_EQ(run({"stores", "--json", "--agent-dir", store.root(), "--store", "pi=" + other.root(), "--store",
                 "omp=" + other.root() + "/none"}),
            kDone)
      << err();
  const auto rows = parsed();
  ASSERT_TRUE(rows.IsArray());
  ASSERT_EQ(rows.Size(), 3U);
  const auto text = [&](unsigned row, const char* key) {
    return std::string(json::string_member(rows[row], key).value_or("null"));
  };
  EXPECT_EQ(text(0, "agent") + " " + text(0, "state") + " " + text(0, "problem"), "omp ok null");
  EXPECT_EQ(json::member(rows[0], "sessions")->GetDouble(), 1);
  EXPECT_EQ(text(1, "agent") + " " + text(1, "state"), "pi unreadable");
  EXPECT_THAT(text(1, "problem"), HasSubstr("is not a folder"));
  EXPECT_EQ(text(2, "agent") + " " + text(2, "state"), "omp absent");
  EXPECT_THAT(text(2, "problem"), HasSubstr("there is no folder"));
}

TEST_F(CommandLineTest, SeveralStoresAreReadAndABrokenOneIsNamed) {
  write_two_entries();
  const TempStore other;
  other.write(kFolder, kName, TempStore::header("bbbb", "/home/dev/src/kite") + "\n");
  ASSERT_EQ(run({"ls", "-q", "--store", "omp=" + store.root(), "--store", "pi=" + other.root()}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr(kId));
  EXPECT_THAT(out(), HasSubstr("bbbb"));
  EXPECT_THAT(err(), IsEmpty());
  EXPECT_EQ(run({"ls", "-q", "--store", "omp=" + store.root(), "--store", "pi=" + other.root() + "/none"}), kDone);
  EXPECT_THAT(err(), HasSubstr("pi: there is no folder"));
}

TEST_F(CommandLineTest, AStoreNeedsAKnownAgent) {
  EXPECT_EQ(run({"ls", "--store", "nobody=/x"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("the known agents are omp, pi, "));
  EXPECT_EQ(run({"ls", "--store", "/x"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("AGENT=DIR"));
}

}  // namespace
}  // namespace arborfs::cli
