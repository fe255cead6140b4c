// The name of a session without a title: what a person typed goes before commands, and these before answers; nothing
// that a program put in the user's name is a name. generated_stores_test.cc has the property, K6.
#include "core/session/session_name.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/formats/claude/format.h"
#include "core/formats/codex/format.h"
#include "core/formats/goat/format.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/opal/format.h"
#include "core/formats/opencode/format.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "tests/support/said_rows.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kColumns = 200;

const std::vector<const Format*>& all_formats() {
  static const std::vector<const Format*> all{&omp::format(),  &omp::pi_format(), &opal::format(), &opencode::format(),
                                              &goat::format(), &claude::format(), &codex::format()};
  return all;
}

TEST(SessionName, IsFoundBehindLongRows) {
  const std::string long_text(700'000, 'x');
  for (const Format* format : all_formats()) {
    const std::string rows =
        testing::log_text_of(format->agent, {{"a", "", "assistant", " "},
                                             {"b", "a", "user", std::string(300'000, ' ') + "far behind"},
                                             {"c", "b", "assistant", long_text}});
    EXPECT_EQ(opening_words(*format, *log_from_bytes(rows), kColumns).text, "far behind") << format->agent;
  }
}

// A picture of 300 KB before the words, as Claude Code writes it, also behind a command.
TEST(SessionName, IsFoundBehindAPicture) {
  const std::string picture =
      R"({"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":[)"
      R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":")" +
      std::string(300'000, 'A') + R"("}},{"type":"text","text":"what is wrong in this picture?"}]}})" + "\n";
  EXPECT_EQ(opening_words(claude::format(), *log_from_bytes(picture), kColumns).text, "what is wrong in this picture?");
  const std::string command = testing::line_of("claude", {"c", "", "user", "<command-name>/review</command-name>"});
  EXPECT_EQ(opening_words(claude::format(), *log_from_bytes(command + picture), kColumns).text,
            "what is wrong in this picture?");
}

TEST(SessionName, LeavesOutWhatEditorsAndProgramsPutBesideTheWords) {
  const auto name_of = [](const Format& format, const std::string& text) {
    return opening_words(format, *log_from_bytes(testing::log_text_of(format.agent, {{"a", "", "user", text}})),
                         kColumns)
        .text;
  };
  EXPECT_EQ(name_of(claude::format(), "<ide_opened_file>The user opened a.js</ide_opened_file>\nrename it"),
            "rename it");
  EXPECT_EQ(name_of(claude::format(), "rename it\n<system-reminder>never mind"), "rename it");
  EXPECT_EQ(name_of(claude::format(), "<bash-input>ls -l</bash-input>"), "!ls -l");
  EXPECT_EQ(name_of(claude::format(),
                    "This session is being continued from a previous conversation that ran out of "
                    "context. Summary: fix it"),
            "");
  EXPECT_EQ(name_of(claude::format(), "<b>bold</b> question"), "<b>bold</b> question");
  EXPECT_EQ(name_of(codex::format(),
                    "# Context from my IDE setup:\n\n## Active file: a.js\n\n## My request for Codex:\nrename it\n"),
            "rename it");
}

TEST(SessionName, LeavesOutTextsThatOpenCodePutIn) {
  const std::string text =
      R"({"info":{"id":"m","role":"user","time":{"created":1}},"parts":[{"type":"text","synthetic":true,"text":"Called )"
      R"(the Read tool"},{"type":"text","text":"the question"}]})"
      "\n";
  EXPECT_EQ(opening_words(opencode::format(), *log_from_bytes(text), kColumns).text, "the question");
}

class ClaudeNamesTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string dir() const { return store.root() + "/agent"; }
  void write(const std::string& name, const std::string& text) const {
    const fs::path path = dir() + "/projects/-w-p/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  static std::string session(const std::string& id, const std::string& words) {
    return testing::line_of("claude", {id + "-1", "", "user", words}) +
           testing::line_of("claude", {id + "-2", id + "-1", "assistant", "ok"});
  }
  /// By the stem of the log.
  std::map<std::string, std::string> names() const {
    auto stores = open_stores({{"claude", dir(), false}}, Access::look);
    EXPECT_TRUE(stores);
    Catalog catalog(std::move(*stores), store.root(), store.root() + "/state");
    catalog.rescan();
    std::map<std::string, std::string> found;
    for (const ShownAt* shown : catalog.view()->shown) {
      const SessionPtr session = shown->session();
      EXPECT_TRUE(session->refresh(Depth::index));  // which opens the log again
      found[session->stem()] = session_name(*session, kColumns);
    }
    return found;
  }

  testing::TempStore store;
  testing::Variable state{"XDG_STATE_HOME", store.root() + "/state"};
};

using Names = std::map<std::string, std::string>;

TEST_F(ClaudeNamesTest, TakeTitlesFromSummariesInOtherLogsAndFromTheFileBeside) {
  write("c2.jsonl", session("c2", "please help"));
  write("c3.jsonl", R"({"type": "summary", "summary": "Parser repair", "leafUuid": "c2-2"})"
                    "\n" +
                        session("c3", "x"));
  write("c4.jsonl", session("c4", "please help"));
  write("c4/custom-title.json", R"({"customTitle":"By hand","by":"user"})");
  write("c5.jsonl", session("c5", "please help") + std::string(100'000, ' ') + "\n" +
                        R"({"type":"system","uuid":"c5-3","parentUuid":"c5-2","sessionId":"s1"})"
                        "\n");
  write("c6.jsonl", R"({"type":"summary","summary":"Of a long one","leafUuid":"c5-1"})"
                    "\n");
  EXPECT_EQ(names(), (Names{{"c2", "Parser repair"},
                            {"c3", "x"},
                            {"c4", "By hand"},
                            {"c5", "Of a long one"},
                            {"c6", std::string(kNoConversation)}}));
}

TEST_F(ClaudeNamesTest, OfLogsWithoutAConversationAreNotTheTitlesOfOthers) {
  write("e1.jsonl", "");
  write("e2.jsonl", R"({"type":"summary","summary":"Title of another session","leafUuid":"nowhere"})"
                    "\n");
  write("e3.jsonl", R"({"type":"file-history-snapshot","messageId":"m","snapshot":{},"isSnapshotUpdate":false})"
                    "\n");
  const std::string none(kNoConversation);
  EXPECT_EQ(names(), (Names{{"e1", none}, {"e2", none}, {"e3", none}}));
}

}  // namespace
}  // namespace arborfs
