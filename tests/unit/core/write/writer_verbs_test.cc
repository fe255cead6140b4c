// Invalid commands of control files: each is refused with its reason, and the log is unchanged.

#include <gtest/gtest.h>

#include <fstream>

#include "core/write/command_stream.h"
#include "core/write/command_text.h"
#include "core/write/verbs.h"
#include "tests/support/stage.h"

namespace arborfs {
namespace {

using testing::Stage;
using testing::Storage;

class VerbsTest : public ::testing::Test {
 protected:
  Result<Answer> run(std::string_view verb, std::string_view text, bool is_json = false) {
    return run_verb(*find_verb(verb), stage_.writer(), {session_, ""}, std::string(text), is_json);
  }
  void expect_refused(std::string_view verb, std::string_view text, Errc code) {
    const std::string before = stage_.bytes(session_);
    const auto done = run(verb, text);
    ASSERT_FALSE(done) << verb << ": " << text.substr(0, 80);
    EXPECT_EQ(done.error().code, code) << verb << ": " << done.error().message;
    EXPECT_EQ(stage_.bytes(session_), before);
  }

  Stage stage_{Storage::memory};
  const SessionPtr session_ = stage_.add_small();
};

TEST_F(VerbsTest, LongAndNonUtf8LinesAreRefused) {
  for (const char* verb : {"branch", "label", "title", "fork", "new"}) {
    expect_refused(verb, std::string(64 * 1024 + 1, 'x'), Errc::too_large);
    expect_refused(verb, "caf\xE9", Errc::not_utf8);
  }
}

TEST_F(VerbsTest, EachLineOfAUsageTextIsRefused) {
  for (const Verb& verb : all_verbs()) {
    const std::string usage = usage_text(verb, {session_, ""});
    if (usage.empty()) {
      continue;  // a view
    }
    expect_refused(verb.name, "fix the bug\n" + usage, Errc::invalid_argument);
    for (std::string_view left = usage; !left.empty();) {
      const std::string line(take_line(left));
      EXPECT_TRUE(line.starts_with("# ") && line.size() > 20 && line.size() < kLookBack) << verb.name << ": " << line;
      for (const std::string& text : {line, "fix " + line + "\n", "\r\n\t" + line + " \n", "#1\nx\n" + line + " too"}) {
        expect_refused(verb.name, text, Errc::invalid_argument);
      }
    }
  }
}

TEST_F(VerbsTest, ALineOfASummaryIsNotTheNameOfAnEntry) {
  ASSERT_TRUE(session_->refresh(Depth::index));
  const std::string id(session_->read_index()->index().id(1).text);
  for (const std::string& summary : std::vector<std::string>{id, "Tried X\n" + id, " #1 ", "root"}) {
    expect_refused("branch", "root\n" + summary + "\n", Errc::invalid_argument);
  }
  EXPECT_TRUE(run("branch", id + "\nTried " + id + " and #1\n"));
}

TEST_F(VerbsTest, MalformedJsonCommandsAreRefused) {
  for (const char* verb : {"branch", "label", "fork", "new"}) {
    expect_refused(verb, "{\"leaf\":", Errc::invalid_argument);
    expect_refused(verb, R"({"nobody":"knows"})", Errc::invalid_argument);
  }
  expect_refused("branch", R"({"leaf":1})", Errc::invalid_argument);
  expect_refused("branch", R"({"leaf":"aaaa0001","force":"yes"})", Errc::invalid_argument);
  expect_refused("branch", R"({"target":"aaaa0001","pin":"yes"})", Errc::invalid_argument);
  expect_refused("branch", R"({"target":"aaaa0001","leaf":"aaaa0001"})", Errc::invalid_argument);
  expect_refused("label", "\n \n", Errc::invalid_argument);
}

TEST_F(VerbsTest, AForkForTheSameAgentDoesNotIgnoreAWorkingDirectory) {
  expect_refused("fork", R"({"cwd":"/elsewhere"})", Errc::invalid_argument);
  expect_refused("fork", R"({"agent":"omp","cwd":"/elsewhere"})", Errc::invalid_argument);
  EXPECT_TRUE(run("fork", R"({"agent":"omp"})"));
}

TEST_F(VerbsTest, JsonCommandsEqualLineCommands) {
  EXPECT_TRUE(run("branch", R"({"leaf":"aaaa0001","summary":"tried","force":true})"));
  EXPECT_TRUE(run("branch", R"({"target":"aaaa0001","pin":true})"));
  EXPECT_TRUE(run("branch", R"({"target":"root"})"));
  EXPECT_TRUE(run("label", R"({"entry":"aaaa0002","label":"here"})"));
  EXPECT_TRUE(run("label", "\naaaa0001 first\naaaa0002\n"));
  EXPECT_TRUE(run("fork", R"({"entry":"aaaa0001","force":true})"));
  EXPECT_TRUE(run("new", R"({"cwd":"/work/pi","title":"Kites"})"));
  EXPECT_FALSE(run("append", "[1]", true));
}

/// Only the newer agents write this entry; a log with one is read by their rules (CONTRACT.md 6.2).
constexpr char kYounger[] = R"({"type":"reset_boundary"})";

TEST(Dialects, AppendUsesTheDialectSeenUnderTheLock) {
  Stage stage{Storage::files};
  const SessionPtr session = stage.add_small();
  const auto append = [&] { return find_verb("append")->run(stage.writer(), {session, ""}, kYounger, true); };
  const std::string older = stage.bytes(session);
  const auto log = stage.temp().log("-work", session->stem());
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(append().error().code, Errc::invalid_argument);
  std::ofstream(log, std::ios::app | std::ios::binary)
      << R"({"type":"reset_boundary","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-02-16T10:20:33.000Z"})"
      << "\n";
  EXPECT_TRUE(append()) << "another program made it a log of the younger agents, which nobody has looked at since";
  std::ofstream(log, std::ios::trunc | std::ios::binary) << older;
  EXPECT_EQ(append().error().code, Errc::invalid_argument);
  EXPECT_EQ(stage.bytes(session), older);
}

TEST_F(VerbsTest, UnknownVerbsAreNotFound) {
  EXPECT_EQ(find_verb("reboot"), nullptr);
}

}  // namespace
}  // namespace arborfs
