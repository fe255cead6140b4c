// arborfs history: which prompts it lists, and how.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/fake_terminal.h"
#include "tests/support/omp_history.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandHistory : public ::testing::Test {
 protected:
  void SetUp() override { ::tzset(); }
  void TearDown() override { ::tzset(); }

  void make(const std::string& rows) {
    testing::SqliteProgram program(store.root() + "/history.db");
    program.run(testing::kHistory183);
    program.run("INSERT INTO history(prompt, created_at, cwd, session_id) VALUES" + rows);
  }
  void make_three() {
    make(
        "('Fix the Übung in mul_tiple words', 1771237230, '/home/dev/pi', 'aaaa0000'),"
        "('two' || char(10) || 'lines ' || char(27) || '[31m', 1771337230, '/work/web-app', NULL),"
        "('last', 1771437230, '/work/web', NULL)");
  }
  int history(std::vector<std::string> words) {
    words.insert(words.begin(), {"history", "--agent-dir=" + store.root()});
    return terminal.run(words);
  }
  std::string listed(const std::vector<std::string>& words) {
    EXPECT_EQ(history(words), kDone) << terminal.err.str();
    return terminal.out.str();
  }

  testing::TempStore store;
  testing::TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::Variable zone{"TZ", "UTC"};
  testing::FakeTerminal terminal;
};

TEST_F(CommandHistory, PromptsAreListedNewestFirstOneToALine) {
  make_three();
  EXPECT_EQ(listed({}),
            "TIME              PROJECT       PROMPT\n"
            "2026-02-18 17:53  work-web      last\n"
            "2026-02-17 14:07  work-web-app  two lines ^[[31m\n"
            "2026-02-16 10:20  pi            Fix the Übung in mul_tiple words\n");
  EXPECT_EQ(listed({"-n", "1"}), "TIME              PROJECT   PROMPT\n2026-02-18 17:53  work-web  last\n");
}

TEST_F(CommandHistory, AllWordsAreRequiredInAnyCaseAndMayBeParts) {
  make_three();
  const std::string found =
      "TIME              PROJECT  PROMPT\n2026-02-16 10:20  pi       Fix the Übung in mul_tiple words\n";
  EXPECT_EQ(listed({"übUNG", "tiple"}), found);
  EXPECT_EQ(listed({"the  FIX"}), found);
  EXPECT_EQ(history({"fix", "nothing"}), kFailed);
  EXPECT_EQ(terminal.out.str(), "");
  EXPECT_EQ(history({"--json", "nothing"}), kFailed);
  EXPECT_EQ(terminal.out.str(), "[]\n");
}

TEST_F(CommandHistory, ATimeChoosesPrompts) {
  make_three();
  EXPECT_THAT(listed({"--since=2026-02-17"}), AllOf(HasSubstr("last"), HasSubstr("two lines"), Not(HasSubstr("Fix"))));
  EXPECT_THAT(listed({"--until=2026-02-17"}), AllOf(HasSubstr("Fix"), HasSubstr("two lines"), Not(HasSubstr("last"))));
  EXPECT_EQ(listed({"--since=2026-02-17", "--until=2026-02-18", "-p", "web", "-n1"}), listed({"-n", "1"}));
  EXPECT_EQ(history({"--since=2026-02-17", "-p", "pi"}), kFailed);
  EXPECT_EQ(history({"--until=2026-02-15"}), kFailed);
  EXPECT_EQ(history({"add", "x", "--since=2026-02-17"}), kUsage);
}

TEST_F(CommandHistory, AProjectIsNamedByNameFolderOrAPart) {
  make_three();
  EXPECT_EQ(listed({"-p", "work-web", "-n1"}), listed({"-p", "/work/web"}));
  EXPECT_THAT(listed({"-p", "app"}), HasSubstr("two lines"));
  EXPECT_EQ(history({"-p", "work-web", "lines"}), kFailed);
  EXPECT_EQ(history({"-p", "/work"}), kFailed);
  EXPECT_EQ(listed({"-p", "/work/web/src/deep"}), listed({"-p", "/work/web"})) << "the nearest folder above";
}

TEST_F(CommandHistory, JsonHasTheWholePrompt) {
  make_three();
  EXPECT_EQ(listed({"--json", "lines"}),
            "[\n{\"time\":\"2026-02-17T14:07:10.000Z\",\"agent\":\"omp\",\"project\":\"work-web-app\",\"cwd\":\"/work/"
            "web-app\",\"session\":null,\"prompt\":\"two\\nlines \\u001b[31m\"}\n]\n");
  EXPECT_THAT(listed({"--json", "fix"}), HasSubstr("\"session\":\"aaaa0000\""));
}

TEST_F(CommandHistory, AHistoryThatIsAbsentOrDamagedIsAnError) {
  EXPECT_EQ(history({}), kFailed);
  EXPECT_EQ(terminal.err.str(), "arborfs: there is no prompt history at " + store.root() + "/history.db\n");
  std::ofstream(store.root() + "/history.db") << std::string(4096, 'x');
  EXPECT_EQ(history({}), kFailed);
  EXPECT_EQ(terminal.err.str(), "arborfs: the prompt history " + store.root() +
                                    "/history.db: cannot query the database: it is damaged, or not an SQLite "
                                    "database\n");
  EXPECT_EQ(terminal.run({"history", "--store=goat=" + store.root()}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("histories of omp, claude and codex"));
}

TEST_F(CommandHistory, OneHistoryThatCannotBeReadDoesNotHideTheOthers) {
  make_three();
  const testing::TempStore other;
  std::ofstream(other.root() + "/history.db") << std::string(4096, 'x');
  EXPECT_THAT(listed({"--store=omp=" + other.root(), "last"}), HasSubstr("work-web"));
  EXPECT_THAT(terminal.err.str(), HasSubstr(other.root()));
}

TEST_F(CommandHistory, PromptsOfSeveralAgentsAreListedTogetherAndByAgent) {
  make_three();
  const testing::TempStore claude;
  std::ofstream(claude.root() + "/history.jsonl")
      << R"({"display":"typed to claude","pastedContents":{},"timestamp":1771400000000,"project":"/work/web"})"
      << "\n";
  const std::string both = "--store=claude=" + claude.root();
  EXPECT_EQ(listed({both, "-n", "2"}),
            "TIME              AGENT   PROJECT   PROMPT\n"
            "2026-02-18 17:53  omp     work-web  last\n"
            "2026-02-18 07:33  claude  work-web  typed to claude\n");
  EXPECT_THAT(listed({both, "--agent", "claude"}), Not(HasSubstr("last")));
  EXPECT_EQ(history({both, "-a", "claude", "add", "one more"}), kDone) << terminal.err.str();
  EXPECT_THAT(listed({both, "-a", "claude", "-n1"}), HasSubstr("one more"));
}

TEST_F(CommandHistory, TimesThatAreNoneArePrintedAsTheNearestOnes) {
  make("('never', 9223372036854775807, NULL, NULL), ('before', -5, NULL, NULL)");
  EXPECT_EQ(listed({}),
            "TIME              PROJECT  PROMPT\n"
            "2262-04-11 23:47  unknown  never\n"
            "1970-01-01 00:00  unknown  before\n");
}

TEST_F(CommandHistory, AddStoresAPromptAsOmpDoes) {
  make_three();
  EXPECT_EQ(history({"add", "two", "words  "}), kDone) << terminal.err.str();
  EXPECT_EQ(terminal.out.str(), "");
  testing::SqliteProgram program(store.root() + "/history.db");
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(program.run("SELECT prompt, cwd, session_id, use_count, abs(created_at - unixepoch()) < 60 FROM history "
                        "ORDER BY id DESC LIMIT 1"),
            "two words|" + here + "||1|1\n");
  terminal.type("from a pipe \r\nand more\n");
  EXPECT_EQ(history({"add", "-", "--json"}), kDone) << terminal.err.str();
  EXPECT_EQ(terminal.out.str(), "{\"history\":\"" + store.root() + "/history.db\"}\n");
  EXPECT_EQ(program.run("SELECT count(*) FROM history_fts WHERE history_fts MATCH 'pipe'"), "1\n");
  EXPECT_THAT(listed({"-n1", "--json"}), HasSubstr("\"from a pipe\\nand more\""));
}

TEST_F(CommandHistory, AddNeedsAPrompt) {
  make_three();
  EXPECT_EQ(history({"add", " "}), kFailed);
  EXPECT_EQ(terminal.err.str(), "arborfs: the prompt has nothing but white space\n");
  EXPECT_EQ(history({"add", "x", "-n", "2"}), kUsage);
  terminal.io.in_is_terminal = true;
  EXPECT_EQ(history({"add"}), kUsage);
  EXPECT_EQ(history({"ADD"}), kFailed);  // a word to look for
}

}  // namespace
}  // namespace arborfs::cli
