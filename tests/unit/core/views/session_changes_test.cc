// What changes.diff makes of the records of each agent: which member holds what, failed calls, calls without a result,
// and which branches and sessions count.
#include "core/views/session_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "core/formats/registry.h"
#include "core/json/document.h"
#include "core/session/catalog.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kUuid = "019c4740-4400-7084-801f-000000000001";

/// The diff of the one session in a store with this file, beside which goat has another one.
std::string diff_of(const std::string& agent, const std::string& file, const std::string& text,
                    std::optional<Ordinal> branch = kNoEntry) {
  const testing::TempStore temp;
  const std::filesystem::path path = std::filesystem::path(temp.root()) / file;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
  if (agent == "goat") {
    std::ofstream(path.parent_path() / "metadata.json")
        << R"({"session_id":"abc","cwd":"/w","created_at":"2026-02-09T10:00:00.5Z"})";
  }
  auto stores = open_stores({{agent, temp.root(), false}}, Access::look);
  EXPECT_TRUE(stores);
  Catalog catalog(*std::move(stores), "/home/sam", "");
  catalog.rescan();
  const auto view = catalog.view();
  if (view->by_id.empty()) {
    ADD_FAILURE() << "no session";
    return "";
  }
  const SessionPtr session = view->by_id.front().second;
  EXPECT_TRUE(session->refresh(Depth::index));
  const CallsOf calls{*session, branch};
  const auto changes = session_changes({&calls, 1});
  EXPECT_TRUE(changes) << changes.error().message;
  return changes_diff(*changes);
}

/// A call of Claude Code and, unless `result` is "", its result.
std::string claude_call(const std::string& tool, const std::string& input, const std::string& result,
                        bool failed = false) {
  static unsigned number = 0;
  const std::string id = "t" + std::to_string(++number);
  const std::string common = R"(,"sessionId":"s","cwd":"/w","timestamp":"2026-05-01T10:00:00.000Z",)";
  std::string lines = R"({"parentUuid":null,"type":"assistant","uuid":"a)" + id + "\"" + common +
                      R"("message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":")" + id +
                      R"(","name":")" + tool + R"(","input":)" + input + "}]}}\n";
  if (!result.empty()) {
    lines += R"({"parentUuid":"a)" + id + R"(","type":"user","uuid":"r)" + id + "\"" + common +
             R"("message":{"role":"user","content":[{"type":"tool_result","tool_use_id":")" + id +
             R"(","content":"x","is_error":)" + (failed ? "true" : "false") + R"(}]},"toolUseResult":)" + result +
             "}\n";
  }
  return lines;
}

/// The diff of one branch, by default that of the leaf.
std::string claude_diff(const std::string& lines, std::optional<Ordinal> branch = kNoEntry) {
  return diff_of("claude", std::string("projects/-w/") + kUuid + ".jsonl", lines, branch);
}

TEST(ChangesOfClaude, AFailedCallChangesNothing) {
  EXPECT_EQ(claude_diff(claude_call("Write", R"({"file_path":"/w/f","content":"a"})", R"("Error: no")", true)), "");
}

TEST(ChangesOfClaude, ACallWithoutAResultIsSaid) {
  EXPECT_EQ(claude_diff(claude_call("Edit", R"({"file_path":"f","old_string":"a","new_string":"b"})", "")),
            "# /w/f · entry 1\n# entry 1 has no result: whether it changed the file is not recorded\n");
}

TEST(ChangesOfClaude, WhatAPersonChangedInAnEditCounts) {
  EXPECT_THAT(claude_diff(claude_call("Edit", R"({"file_path":"/w/f","old_string":"a","new_string":"b"})",
                                      R"({"filePath":"/w/f","oldString":"a","newString":"c","originalFile":"a\n"})")),
              HasSubstr("-a\n+c\n"));
}

TEST(ChangesOfClaude, ANotebookIsKnownFromItsResult) {
  const std::string input = R"({"notebook_path":"/w/n.ipynb","new_source":"x"})";
  EXPECT_THAT(
      claude_diff(claude_call("NotebookEdit", input,
                              R"({"notebook_path":"/w/n.ipynb","original_file":"{1}\n","updated_file":"{2}\n"})")),
      HasSubstr("-{1}\n+{2}\n"));
  EXPECT_THAT(claude_diff(claude_call("NotebookEdit", input, "{}")), HasSubstr("how is not recorded"));
}

TEST(ChangesOfClaude, CommandsAreNamedAsUnknown) {
  EXPECT_EQ(claude_diff(claude_call("Bash", R"({"command":"sed -i s/a/b/ f"})", R"({"stdout":""})")),
            "# What 1 command changed is not recorded (entry 1): see commands.txt\n");
}

TEST(ChangesOfClaude, AnEditWithoutTheFileHasItsLines) {
  EXPECT_THAT(claude_diff(claude_call("Edit", R"({"file_path":"/w/f","old_string":"a","new_string":""})", "{}")),
              AllOf(HasSubstr("# the numbers of its lines are not recorded"), HasSubstr("@@ -1,1 +1,0 @@\n-a\n")));
}

/// A row of Claude Code behind another one; `content` is that of its message.
std::string claude_row(const std::string& id, const std::string& parent, const std::string& role,
                       const std::string& content, const std::string& more = "") {
  return R"({"parentUuid":)" + (parent.empty() ? "null" : "\"" + parent + "\"") + R"(,"type":")" + role +
         R"(","uuid":")" + id + R"(","sessionId":"s","cwd":"/w","timestamp":"2026-05-01T10:00:00.000Z",)" + more +
         R"("message":{"id":")" + id + R"(","role":")" + role + R"(","content":)" + content + "}}\n";
}

/// A call that writes a file, and its result. The rows are `id` and `id` with an r behind it.
std::string claude_write(const std::string& id, const std::string& parent, const std::string& text,
                         const std::string& more = "") {
  const std::string call = R"([{"type":"tool_use","id":"t)" + id +
                           R"(","name":"Write","input":{"file_path":"/w/f","content":")" + text + R"("}}])";
  return claude_row(id, parent, "assistant", call, more) +
         claude_row(id + "r", id, "user", R"([{"type":"tool_result","tool_use_id":"t)" + id + R"(","content":"x"}])",
                    more);
}

TEST(ChangesOfABranch, OnlyItsCallsCount) {
  const std::string log = claude_row("u", "", "user", R"("go")") + claude_write("a", "u", "first") +
                          claude_write("b", "ar", "left") + claude_write("c", "ar", "kept");
  EXPECT_THAT(claude_diff(log), AllOf(HasSubstr("entries 2, 6\n"), HasSubstr("+kept\n"), Not(HasSubstr("left"))));
  EXPECT_THAT(claude_diff(log, 5), AllOf(HasSubstr("entries 2, 4\n"), HasSubstr("+left\n"), Not(HasSubstr("kept"))));
  EXPECT_THAT(claude_diff(log, 3), HasSubstr("+first\n"));
  EXPECT_THAT(claude_diff(log, std::nullopt), HasSubstr("entries 2, 4, 6\n"));
}

TEST(ChangesOfABranch, AResultCountsWhereverItStands) {
  const auto call = [](const std::string& id, const std::string& text) {
    return R"([{"type":"tool_use","id":"t)" + id + R"(","name":"Write","input":{"file_path":"/w/)" + id +
           R"(","content":")" + text + R"("}}])";
  };
  const auto result = [](const std::string& id) {
    return R"([{"type":"tool_result","tool_use_id":"t)" + id + R"(","content":"x"}])";
  };
  EXPECT_THAT(claude_diff(claude_row("a", "", "assistant", call("a", "one")) +
                          claude_row("b", "a", "assistant", call("b", "two")) +
                          claude_row("ar", "a", "user", result("a")) + claude_row("br", "b", "user", result("b"))),
              AllOf(HasSubstr("+one\n"), HasSubstr("+two\n"), Not(HasSubstr("no result"))));
}

TEST(ChangesOfABranch, ASubAgentInTheLogStandsWhereItWasStarted) {
  const std::string aside = R"("isSidechain":true,)";
  const std::string log = claude_row("u", "", "user", R"("go")") + claude_row("p", "u", "user", R"("left")") +
                          claude_write("x", "", "aside", aside) + claude_row("q", "u", "user", R"("kept")");
  EXPECT_EQ(claude_diff(log), "");
  EXPECT_THAT(claude_diff(log, 2), HasSubstr("+aside\n"));
}

std::string codex_diff(const std::string& output) {
  const std::string common = R"({"timestamp":"2026-05-01T10:00:00.000Z","type":)";
  return diff_of("codex", std::string("sessions/2026/05/01/rollout-2026-05-01T10-00-00-") + kUuid + ".jsonl",
                 common + R"("session_meta","payload":{"id":")" + kUuid +
                     R"(","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/w"}})"
                     "\n" +
                     common +
                     R"("response_item","payload":{"type":"custom_tool_call","name":"apply_patch","call_id":"c",)"
                     R"("input":"*** Begin Patch\n*** Update File: f\n@@ def x\n-a\n+b\n*** End Patch"}})"
                     "\n" +
                     common + R"("response_item","payload":{"type":"custom_tool_call_output","call_id":"c","output":)" +
                     json::stringify_string(output) + "}}\n");
}

TEST(ChangesOfCodex, OnlyAPatchThatSaysSoWorked) {
  EXPECT_EQ(codex_diff("apply_patch verification failed: Failed to find expected lines"), "");
  EXPECT_THAT(codex_diff("Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM f\n"),
              HasSubstr("@@ -1,1 +1,1 @@\n-def x\n+def x\n@@ -2,1 +2,1 @@\n-a\n+b\n"));
}

/// A call of omp or pi with the details of its result.
std::string omp_diff(const std::string& agent, const std::string& arguments, const std::string& details) {
  const std::string time = R"("timestamp":"2026-05-01T10:00:00.000Z")";
  return diff_of(
      agent, std::string("sessions/--w--/2026-05-01T10-00-00-000Z_") + kUuid + ".jsonl",
      R"({"type":"session","version":3,"id":")" + std::string(kUuid) + R"(",)" + time +
          R"(,"cwd":"/w"})"
          "\n"
          R"({"type":"message","id":"a","parentId":null,)" +
          time + R"(,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"edit","arguments":)" +
          arguments +
          "}]}}\n"
          R"({"type":"message","id":"b","parentId":"a",)" +
          time + R"(,"message":{"role":"toolResult","toolCallId":"c","toolName":"edit","content":[],"details":)" +
          details +
          R"(,"isError":false}})"
          "\n");
}

TEST(ChangesOfOmp, FilesThatOnlyTheResultNamesCount) {
  EXPECT_THAT(omp_diff("omp", R"({"input":"[f#1] 3: x"})",
                       R"({"diff":"","perFileResults":[{"path":"f","oldText":"a\n","newText":"b\n"},)"
                       R"({"path":"/w/g","diff":"?"}]})"),
              AllOf(HasSubstr("--- a/w/f\n+++ b/w/f\n@@ -1,1 +1,1 @@\n-a\n+b\n"),
                    HasSubstr("# /w/g · entry 1\n# entry 1 changed it; how is not recorded\n")));
}

TEST(ChangesOfPi, AListOfEditsIsAppliedInItsOrder) {
  const std::string diff =
      omp_diff("pi", R"({"path":"f","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}]})", "{}");
  EXPECT_THAT(diff, AllOf(HasSubstr("-a\n+b\n"), HasSubstr("-c\n+d\n")));
}

TEST(ChangesOfOpal, EditsAndWritesCount) {
  const std::string diff =
      diff_of("opal", "sessions/8b895669c15858d34e658c5db6c3beab.jsonl",
              R"({"session_id":"8b895669c15858d34e658c5db6c3beab","current_id":"3","metadata":{}})"
              "\n"
              R"({"id":"1","parent_id":null,"role":"assistant","content":"","is_error":false,"tool_calls":[)"
              R"({"call_id":"c1","name":"write_file","arguments":{"path":"/w/f","content":"a\n"}},)"
              R"({"call_id":"c2","name":"edit_file","arguments":{"path":"/w/f","old":"a","new":"b"}}]})"
              "\n"
              R"({"id":"2","parent_id":"1","role":"tool_result","call_id":"c1","content":"ok","is_error":false})"
              "\n"
              R"({"id":"3","parent_id":"2","role":"tool_result","call_id":"c2","content":"ok","is_error":false})"
              "\n");
  EXPECT_THAT(diff, AllOf(HasSubstr("entry 1\n"), HasSubstr("+b\n"), Not(HasSubstr("+a\n"))));
}

TEST(ChangesOfGoat, AnEditWithoutTextsIsSaid) {
  const std::string diff = diff_of(
      "goat", "sessions/abc/messages.jsonl",
      R"({"uuid":"1","timestamp":"2026-02-09T10:00:06.5Z","role":"assistant","content":"","tool_calls":[{"id":"c1",)"
      R"("type":"function","function":{"name":"Edit","arguments":"{\"file_path\":\"/w/f\"}"}},{"id":"c2",)"
      R"("type":"function","function":{"name":"Edit","arguments":"{\"file_path\":\"/w/g\",\"old_string\":\"a\",)"
      R"(\"new_string\":\"b\"}"}}]})"
      "\n"
      R"({"uuid":"2","timestamp":"2026-02-09T10:00:07Z","role":"tool","tool_call_id":"c1","name":"Edit","content":"ok"})"
      "\n"
      R"({"uuid":"3","timestamp":"2026-02-09T10:00:07Z","role":"tool","tool_call_id":"c2","name":"Edit","content":"ok"})"
      "\n");
  EXPECT_THAT(diff, AllOf(HasSubstr("# entry 1 changed it; how is not recorded"), HasSubstr("-a\n+b\n")));
}

}  // namespace
}  // namespace arborfs
