// arborfs protect: what keeps Claude Code from deleting sessions, and what the doctor says of those that it will
// delete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/fake_terminal.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOld = "11111111-1111-4111-8111-111111111111";
constexpr const char* kNew = "22222222-2222-4222-8222-222222222222";

class CommandProtect : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string id : {kOld, kNew}) {
      claude.write("../projects/-work", id,
                   R"({"type":"user","uuid":"a","parentUuid":null,"sessionId":")" + id +
                       R"(","cwd":"/work","timestamp":"2026-01-01T10:00:00.000Z",)"
                       R"("message":{"role":"user","content":"find the kite"}})"
                       "\n");
    }
    write(project() / kOld / "tool-results" / "out.txt", "long");
    for (const auto& path :
         {project() / (std::string(kOld) + ".jsonl"), project() / kOld / "tool-results" / "out.txt"}) {
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * 28));
    }
  }
  [[nodiscard]] fs::path project() const { return fs::path(claude.root()) / "projects" / "-work"; }
  [[nodiscard]] fs::path settings() const { return fs::path(claude.root()) / "settings.json"; }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
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

TEST_F(CommandProtect, TheDoctorNamesTheSessionsThatGoWithinAWeek) {
  EXPECT_THAT(out({"doctor"}), AllOf(HasSubstr(std::string("arborfs protect ") + kOld), Not(HasSubstr(kNew))));
  write(settings(), R"({"cleanupPeriodDays":90})");
  EXPECT_THAT(out({"doctor"}), Not(HasSubstr("expires")));
  for (const char* const days : {"36500", "99999", "1000000", "1e300"}) {
    write(settings(), R"({"cleanupPeriodDays":)" + std::string(days) + "}");
    EXPECT_THAT(out({"doctor"}), Not(HasSubstr("expires"))) << days;
    EXPECT_THAT(out({"protect", "--all"}), HasSubstr("already")) << days;
    EXPECT_THAT(text_of(settings()), HasSubstr(days));
  }
  write(settings(), R"({"cleanupPeriodDays":1})");
  EXPECT_THAT(out({"doctor"}), AllOf(HasSubstr(kNew), HasSubstr("when it next runs")));
  write(settings(), R"({"cleanupPeriodDays":0})");  // not valid: the whole file is ignored
  EXPECT_THAT(out({"doctor"}), Not(HasSubstr(kNew)));
}

TEST_F(CommandProtect, ASessionIsKeptByTheTimesOfItsFiles) {
  const fs::path log = project() / (std::string(kOld) + ".jsonl");
  const std::string before = text_of(log);
  EXPECT_THAT(out({"protect", kOld}), HasSubstr("2 files are set to now"));
  EXPECT_EQ(text_of(log), before);
  for (const auto& path : {log, project() / kOld / "tool-results" / "out.txt"}) {
    EXPECT_GT(fs::last_write_time(path), fs::file_time_type::clock::now() - std::chrono::hours(1)) << path;
  }
  EXPECT_THAT(out({"doctor"}), Not(HasSubstr("expires")));
}

TEST_F(CommandProtect, AllAreKeptByTheSettings) {
  write(settings(), "{\n  \"model\": \"opus\",\n  \"env\": {\"A\": \"1\"}\n}\n");
  EXPECT_THAT(out({"protect", "--all"}), HasSubstr("36500"));
  EXPECT_EQ(text_of(settings()),
            "{\n  \"model\": \"opus\",\n  \"env\": {\"A\": \"1\"},\n  \"cleanupPeriodDays\": 36500\n}\n");
  EXPECT_THAT(out({"doctor"}), Not(HasSubstr("expires")));
  out({"protect", "--all"});
  fs::remove(settings());
  out({"protect", "--all"});
  EXPECT_THAT(text_of(settings()), HasSubstr("36500"));
}

TEST_F(CommandProtect, SettingsThatCannotBeReadAreNotReplaced) {
  write(settings(), "{ // a comment\n}");
  EXPECT_EQ(run({"protect", "--all"}), kFailed);
  EXPECT_THAT(terminal.err.str(), HasSubstr("mend it first"));
  EXPECT_EQ(text_of(settings()), "{ // a comment\n}");
  EXPECT_EQ(run({"protect"}), kUsage);
}

}  // namespace
}  // namespace arborfs::cli
