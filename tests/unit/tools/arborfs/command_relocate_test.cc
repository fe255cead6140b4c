// arborfs relocate: the sessions of a moved project follow it, and the doctor proposes that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/command_write_support.h"

namespace arborfs::cli {
namespace {

namespace fs = std::filesystem;
using ::arborfs::testing::TempStore;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two sessions of omp, in a project and in a folder of it, and one of Claude Code. The project was moved.
class CommandRelocate : public ::testing::Test {
 protected:
  CommandRelocate() {
    omp.write("-old", "2026-02-16T10-20-30-000Z_a1", session("a1", old()));
    omp.write("-old", "2026-02-16T10-20-30-000Z_a2", session("a2", old() + "/lib"));
    omp.write("-other", "2026-02-16T10-20-30-000Z_a3", session("a3", old() + "er"));
    claude.write("../projects/-old", kClaude,
                 R"({"type":"user","uuid":"a","parentUuid":null,"sessionId":")" + std::string(kClaude) +
                     R"(","cwd":")" + old() +
                     R"(","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"kite"}})"
                     "\n");
    fs::create_directories(fs::path(now()) / "lib");
  }
  static std::string session(const std::string& id, const std::string& cwd) {
    return TempStore::header(id, cwd) + "\n" + TempStore::user("e1e1e1e1", "", "words of " + id) + "\n";
  }
  [[nodiscard]] std::string old() const { return scratch.root() + "/gone/app"; }
  [[nodiscard]] std::string now() const { return scratch.root() + "/there/app"; }
  int run(std::vector<std::string> words) {
    words.insert(words.begin() + 1, {"--store=omp=" + omp.root(), "--store=claude=" + claude.root()});
    return terminal.run(words);
  }
  std::string out(const std::vector<std::string>& words, int status = kDone) {
    EXPECT_EQ(run(words), status) << terminal.err.str();
    return terminal.out.str();
  }
  [[nodiscard]] std::string err() const { return terminal.err.str(); }

  static constexpr const char* kClaude = "11111111-1111-4111-8111-111111111111";
  TempStore omp;
  TempStore claude;
  TempStore scratch;
  testing::Variable state{"XDG_STATE_HOME", scratch.root() + "/state"};
  testing::Variable data{"XDG_DATA_HOME", scratch.root() + "/data"};
  testing::FakeTerminal terminal;
};

TEST_F(CommandRelocate, SessionsOfAllAgentsFollowTheProject) {
  EXPECT_THAT(out({"relocate", "--dry-run", old(), now()}),
              AllOf(HasSubstr("would relocate omp a1 (words of a1): " + old() + " -> " + now() + "\n"),
                    HasSubstr("would relocate omp a2 (words of a2): " + old() + "/lib -> " + now() + "/lib\n"),
                    HasSubstr(kClaude), HasSubstr("3 sessions would be relocated\n"), Not(HasSubstr("a3"))));
  EXPECT_THAT(out({"ls", "-p", old()}), HasSubstr("words of a1"));
  EXPECT_THAT(out({"relocate", old(), now()}), HasSubstr("3 sessions relocated\n"));
  EXPECT_THAT(out({"ls", "-p", now()}), AllOf(HasSubstr("words of a1"), HasSubstr("kite"), Not(HasSubstr("of a2"))));
  EXPECT_THAT(out({"ls", "-p", now() + "/lib"}), HasSubstr("words of a2"));
  EXPECT_EQ(run({"relocate", old(), now()}), kFailed);
  EXPECT_THAT(err(), HasSubstr("no session was started in " + old()));
}

TEST_F(CommandRelocate, TheDoctorProposesIt) {
  const std::string proposal = "arborfs relocate " + old() + " " + now();
  EXPECT_THAT(out({"doctor"}), AllOf(HasSubstr("moved_project: 3 sessions were started in this folder, which is gone"),
                                     HasSubstr(proposal)));
  out({"relocate", old(), now()});
  EXPECT_THAT(out({"doctor"}), Not(HasSubstr("moved_project")));
}

// The folder has another name, so its files tell: most of those that the session worked on.
TEST_F(CommandRelocate, TheDoctorKnowsARenamedFolderByItsFiles) {
  const std::string gone = scratch.root() + "/gone/kites";
  std::string rows;
  for (const char* file : {"wing.cc", "tail.cc", "src/line.cc", "removed.cc"}) {
    rows +=
        R"({"type":"assistant","uuid":"b)" + std::to_string(rows.size()) +
        R"(","parentUuid":"a","sessionId":"22222222-2222-4222-8222-222222222222","cwd":")" + gone +
        R"(","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"t)" +
        std::to_string(rows.size()) + R"(","name":"Read","input":{"file_path":")" + gone + "/" + file + "\"}}]}}\n";
  }
  claude.write(
      "../projects/-kites", "22222222-2222-4222-8222-222222222222",
      R"({"type":"user","uuid":"a","parentUuid":null,"sessionId":"22222222-2222-4222-8222-222222222222","cwd":")" +
          gone + R"(","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"fly"}})" + "\n" +
          rows);
  const auto touch = [](const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "x";
  };
  touch(scratch.root() + "/gone/other/wing.cc");
  touch(scratch.root() + "/gone/other/tail.cc");
  EXPECT_THAT(out({"doctor"}), Not(HasSubstr(gone)));
  for (const char* file : {"wing.cc", "tail.cc", "src/line.cc"}) {
    touch(scratch.root() + "/gone/dragons/" + file);
  }
  EXPECT_THAT(out({"doctor"}), HasSubstr("arborfs relocate " + gone + " " + scratch.root() + "/gone/dragons"));
}

TEST_F(CommandRelocate, ATakenPlaceIsLeftAlone) {
  const std::string folder = out({"relocate", "-n", "--json", old(), now()});
  const fs::path first = omp.log("-old", "2026-02-16T10-20-30-000Z_a1");
  EXPECT_THAT(out({"relocate", "-n", old(), now()}), HasSubstr("  " + first.string() + " -> "));
  const std::string dry = terminal.out.str();
  const std::size_t at = dry.find(" -> ", dry.find("  " + first.string()));
  const fs::path taken = dry.substr(at + 4, dry.find('\n', at) - at - 4);
  fs::create_directories(taken.parent_path());
  std::ofstream(taken) << "another file";
  EXPECT_THAT(out({"relocate", old(), now()}, kFailed), HasSubstr("2 sessions relocated\n"));
  EXPECT_THAT(err(), AllOf(HasSubstr("a1"), HasSubstr("exists already; move it away")));
  EXPECT_EQ(testing::bytes_of(taken), "another file");
  EXPECT_EQ(testing::bytes_of(first), session("a1", old()));
  fs::remove(taken);
  EXPECT_THAT(out({"relocate", old(), now()}), HasSubstr("1 session relocated\n"));
}

TEST_F(CommandRelocate, FoldersThatCannotBeMeantAreRefused) {
  EXPECT_EQ(run({"relocate", old(), scratch.root() + "/nowhere"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("move the project there first"));
  EXPECT_EQ(run({"relocate", now(), now()}), kFailed);
  EXPECT_EQ(run({"relocate", old()}), kUsage);
}

// What is in the new folder already stays, so that the command can be run again.
TEST_F(CommandRelocate, AFolderMayMoveIntoItself) {
  fs::create_directories(old() + "/lib/sub");
  EXPECT_THAT(out({"relocate", old(), old() + "/lib"}), HasSubstr("2 sessions relocated\n"));
  EXPECT_THAT(out({"ls", "-p", old() + "/lib"}), AllOf(HasSubstr("words of a1"), HasSubstr("words of a2")));
  EXPECT_EQ(run({"relocate", old(), old() + "/lib"}), kFailed);
}

}  // namespace
}  // namespace arborfs::cli
