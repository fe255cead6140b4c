// arborfs undo: takes back what the command line changed, and lists it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/claude_acts.h"
#include "tests/support/codex_stage.h"
#include "tests/support/store_files.h"
#include "tests/support/undone.h"
#include "tests/unit/command_write_support.h"

namespace arborfs::cli {
namespace {

using ::arborfs::testing::TempStore;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace fs = std::filesystem;

class CommandUndo : public ::arborfs::testing::WritingTest {
 protected:
  [[nodiscard]] std::map<std::string, std::string> sessions() const {
    return arborfs::testing::files_below(store.sessions().string());
  }
  void expect_undone(const std::vector<std::string>& words, const std::string& verb) {
    const auto before = sessions();
    ASSERT_EQ(run(words), kDone) << err();
    ASSERT_EQ(run({"undo"}), kDone) << words[0] << ": " << err();
    EXPECT_THAT(out(), HasSubstr("took back '" + verb + "'"));
    EXPECT_EQ(sessions(), before) << words[0];
  }
};

TEST_F(CommandUndo, EveryVerbIsTakenBack) {
  expect_undone({"append", kId, "more words"}, "append");
  expect_undone({"title", kId, "A title"}, "title");
  expect_undone({"label", kId, "e1e1e1e1", "start"}, "label");
  expect_undone({"branch", kId, "e1e1e1e1"}, "branch");
  expect_undone({"branch", kId, "e1e1e1e1", "a summary"}, "branch");
  expect_undone({"fork", kId}, "fork");
  expect_undone({"new", store.root()}, "new");
  expect_undone({"rm", "-y", kId}, "rm");
  expect_undone({"tag", kId, "blue"}, "tags");
  ASSERT_EQ(run({"tag", kId}), kDone);
  EXPECT_EQ(out(), "");
}

/// What was changed in a fork goes first, and the fork is then as it was made.
TEST_F(CommandUndo, AForkIsTakenBackBehindWhatWasChangedInIt) {
  arborfs::testing::ClaudeStage claude;
  arborfs::testing::with_rows(claude);
  const arborfs::testing::CodexStage codex;
  const auto run_there = [&](std::vector<std::string> words) {
    words.insert(words.begin() + 1, {"--store=claude=" + claude.config(), "--store=codex=" + codex.home()});
    return run(words);
  };
  const auto all = [&] {
    return std::tuple(arborfs::testing::files_in(claude.config()), arborfs::testing::files_in(codex.home()),
                      sessions());
  };
  const std::string sources[] = {std::string("claude:") + arborfs::testing::kClaudeId,
                                 std::string("codex:") + arborfs::testing::kPaginated, std::string("omp:") + kId};
  ASSERT_EQ(run_there({"title", sources[1], "Before"}), kDone) << err();
  for (const std::string& source : sources) {
    for (const char* to : {"--to=claude", "--to=codex", "--to=omp", ""}) {
      SCOPED_TRACE(source + " " + to);
      const auto before = all();
      ASSERT_EQ(run_there(*to == '\0' ? std::vector<std::string>{"fork", source}
                                      : std::vector<std::string>{"fork", to, source}),
                kDone)
          << err();
      const std::string text = out();
      const std::string fork = text.substr(0, text.find_first_of(" \t\n"));
      ASSERT_EQ(run_there({"append", fork, "more"}), kDone) << err();
      ASSERT_EQ(run_there({"title", fork, "Another"}), kDone) << err();
      ASSERT_EQ(run_there({"tag", fork, "blue"}), kDone) << err();
      for (const char* verb : {"tags", "title", "append", "fork"}) {
        ASSERT_EQ(run_there({"undo"}), kDone) << verb << ": " << err();
        EXPECT_THAT(out(), HasSubstr(std::string("took back '") + verb + "'"));
      }
      EXPECT_EQ(all(), before);
    }
  }
}

TEST_F(CommandUndo, ARestoredSessionGoesBackToTheTrash) {
  ASSERT_EQ(run({"rm", "-y", kId}), kDone);
  ASSERT_EQ(run({"restore", "--agent-dir=" + store.root(), "latest"}), kDone) << err();
  ASSERT_EQ(run({"undo"}), kDone) << err();
  EXPECT_FALSE(fs::exists(log()));
  ASSERT_EQ(run({"undo"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no longer in the trash"));
}

TEST_F(CommandUndo, APruneOfManyIsOneOperation) {
  for (int i = 0; i < 20; ++i) {
    const std::string id = "old" + std::to_string(100 + i) + "00";
    store.write(kFolder, id,
                TempStore::header(id, store.root()) + "\n" + TempStore::user("e1e1e1e1", "", "words") + "\n");
    fs::last_write_time(store.log(kFolder, id), fs::file_time_type::clock::now() - std::chrono::hours(24 * 100));
  }
  const auto before = sessions();
  const auto time = fs::last_write_time(store.log(kFolder, "old10000"));
  ASSERT_EQ(run({"prune", "--keep-count=1", "-y"}), kDone) << err();
  EXPECT_EQ(sessions().size(), 1U);
  ASSERT_EQ(run({"undo", "--list"}), kDone);
  EXPECT_THAT(out(), ContainsRegex("prune .*  20 sessions"));
  ASSERT_EQ(run({"undo"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("took back 'prune' of 20 sessions"));
  EXPECT_EQ(sessions(), before);
  EXPECT_EQ(fs::last_write_time(store.log(kFolder, "old10000")), time);
}

TEST_F(CommandUndo, TheListSaysWhatIsTakenBackAndWhatCannotBe) {
  ASSERT_EQ(run({"append", kId, "more words"}), kDone);
  ASSERT_EQ(run({"undo"}), kDone) << err();
  ASSERT_EQ(run({"rm", "-y", kId}), kDone);
  ASSERT_EQ(run({"trash", "empty", "-y"}), kDone) << err();
  ASSERT_EQ(run({"undo", "--list"}), kDone);
  EXPECT_THAT(out(), AllOf(StartsWith("TIME "), ContainsRegex("append  +omp  .*  taken back\n"),
                           HasSubstr("cannot be taken back: it deleted the session for good\n")));
  terminal.io.out_is_terminal = true;
  terminal.io.width = 60;
  ASSERT_EQ(run({"undo", "--list"}), kDone);
  std::istringstream lines(out());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
  }
  terminal.io.out_is_terminal = false;
  ASSERT_EQ(run({"undo", "--list", "--json"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\"takenBack\":true"));
  ASSERT_EQ(run({"undo"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("'trash empty' cannot be taken back"));
}

TEST_F(CommandUndo, ProtectionIsTakenBack) {
  const TempStore claude;
  const std::string id = "11111111-1111-4111-8111-111111111111";
  claude.write("../projects/-work", id,
               R"({"type":"user","uuid":"a","parentUuid":null,"sessionId":")" + id +
                   R"(","cwd":"/work","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"x"}})"
                   "\n");
  const fs::path transcript = fs::path(claude.root()) / "projects/-work" / (id + ".jsonl");
  const fs::path settings = fs::path(claude.root()) / "settings.json";
  std::ofstream(settings) << "{\n  \"model\": \"opus\"\n}\n";
  fs::last_write_time(transcript, fs::file_time_type::clock::now() - std::chrono::hours(24 * 20));
  const auto time = fs::last_write_time(transcript);
  const std::string of_claude = "--store=claude=" + claude.root();
  ASSERT_EQ(terminal.run({"protect", of_claude, id}), kDone) << err();
  EXPECT_NE(fs::last_write_time(transcript), time);
  ASSERT_EQ(terminal.run({"protect", of_claude, "--all"}), kDone) << err();
  ASSERT_EQ(terminal.run({"undo", of_claude}), kDone) << err();
  EXPECT_EQ(arborfs::testing::bytes_of(settings), "{\n  \"model\": \"opus\"\n}\n");
  ASSERT_EQ(terminal.run({"undo", of_claude}), kDone) << err();
  EXPECT_EQ(fs::last_write_time(transcript), time);
}

TEST_F(CommandUndo, ARepairIsTakenBack) {
  std::ofstream(log(), std::ios::app) << R"({"type":"message","id":"e3e3)";
  fs::last_write_time(log(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  expect_undone({"doctor", "--repair", kId}, "doctor --repair");
}

TEST_F(CommandUndo, NothingToTakeBackIsSaid) {
  ASSERT_EQ(run({"undo"}), kFailed);
  EXPECT_EQ(err(), "arborfs: there is nothing to take back\n");
  ASSERT_EQ(run({"undo", "12345678"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no operation has this id"));
}

}  // namespace
}  // namespace arborfs::cli
