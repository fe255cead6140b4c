// The views of Claude Code's transcripts that follow people, not the model (claude/FORMAT.md B3, B7, C2, C4): prompts
// typed while the program worked, notices, hooks, compactions and gaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/entry/people_path.h"
#include "tests/support/claude_log.h"

namespace arborfs::conformance {
namespace {

using tests::ClaudeLog;
using tests::Rows;
using tests::Texts;

constexpr std::string_view kCompacted = "*Compacted: ";
constexpr std::string_view kGap = " not connected with what follows";

std::string text_block(const std::string& text) {
  return R"({"type":"text","text":")" + text + "\"}";
}
std::string queued(const std::string& prompt, const std::string& more = R"(,"commandMode":"prompt")") {
  return R"("attachment":{"type":"queued_command","prompt":)" + prompt + more + "}";
}
std::string boundary(const std::string& before) {
  return R"("subtype":"compact_boundary","content":"Conversation compacted","logicalParentUuid":")" + before + "\"";
}
std::string said(const std::string& text, const std::string& more = "") {
  return R"("message":{"role":"user","content":")" + text + "\"}" + more;
}

/// True if the texts stand in the document in this order, each once.
bool has_in_order(const std::string& document, const Texts& texts) {
  std::size_t at = 0;
  for (const std::string& text : texts) {
    at = document.find(text, at);
    if (at == std::string::npos || document.find(text) != at || document.find(text, at + 1) != std::string::npos) {
      return false;
    }
  }
  return true;
}

std::size_t count(const std::string& document, std::string_view words) {
  std::size_t found = 0;
  for (std::size_t at = document.find(words); at != std::string::npos; at = document.find(words, at + 1)) {
    ++found;
  }
  return found;
}

/// The first prompt on the path for people to the leaf; kNoEntry if there is none.
Ordinal first_prompt(const LogIndex& index) {
  const auto path = people_entries(index, index.leaf());
  const auto first = std::find_if(path.begin(), path.end(), [&](Ordinal step) { return index.name(step) == "user"; });
  return first == path.end() ? kNoEntry : *first;
}

TEST(ClaudePeople, APromptTypedWhileTheProgramWorkedIsTheUsers) {
  Rows rows;
  rows.user("u", "").call("a", "u", "m").row("attachment", "q", "a", queued("\"and the tests\""));
  rows.row("attachment", "i", "q",
           queued(R"([{"type":"text","text":"see this"},{"type":"image","source":{"type":"base64","data":""}}])"));
  rows.row("attachment", "h", "i", queued("\"by hand\"", R"(,"origin":{"kind":"human"})"));
  rows.row("attachment", "c", "h",
           queued("\"by a channel\"", R"(,"origin":{"kind":"channel"},"commandMode":"prompt")"));
  rows.block("b", "c", "n", text_block("done"));
  const ClaudeLog log = rows.log();
  EXPECT_EQ(log.name("q"), "user");
  EXPECT_EQ(log.name("i"), "user");
  EXPECT_EQ(log.name("h"), "user");
  EXPECT_EQ(log.name("c"), "attachment");
  EXPECT_TRUE(has_in_order(log.transcript(), {"of u", "and the tests", "see this", "by hand", "done"}));
}

TEST(ClaudePeople, ANoticeOfATaskIsKeptButIsNotTheUsers) {
  const std::string notice =
      R"(<task-notification>\n<task-id>b1</task-id>\n<summary>Tests ended</summary>\n<result>All <b>good</b>.</result>\n</task-notification>)";
  Rows rows;
  rows.user("u", "").block("a", "u", "m", text_block("started"));
  rows.row("attachment", "n", "a", queued('"' + notice + '"')).row("user", "o", "n", said(notice));
  rows.row("user", "p", "o", said("x", R"(,"origin":{"kind":"task-notification"},"isMeta":true)"));
  const ClaudeLog log = rows.log();
  EXPECT_EQ(log.name("n"), "notification");
  EXPECT_EQ(log.name("o"), "notification");
  EXPECT_EQ(log.name("p"), "notification");
  const std::string transcript = log.transcript();
  EXPECT_EQ(count(transcript, "## notification"), 3U);
  EXPECT_EQ(count(transcript, "Tests ended"), 2U);
  EXPECT_EQ(count(transcript, "<task"), 0U) << transcript;
}

TEST(ClaudePeople, WordsOfTheProgramAreNotTheUsers) {
  Rows rows;
  rows.user("u", "").row("user", "i", "u", said("[Request interrupted by user for tool use]"));
  rows.row("user", "s", "i",
           said("This session is being continued from a previous conversation that ran out of context."));
  rows.row("user", "m", "s", R"("message":{"role":"user","content":[{"type":"text","text":"<system-reminder>x"}]})");
  rows.row(
      "user", "b", "m",
      R"("message":{"role":"user","content":[{"type":"text","text":"<system-reminder>x"},{"type":"text","text":"hi"}]})");
  rows.line(
      R"({"type":"user","uuid":"t","parentUuid":null,"isSidechain":true,"message":{"role":"user","content":"do"}})");
  const ClaudeLog log = rows.log();
  EXPECT_EQ(log.name("i"), "interruption");
  EXPECT_EQ(log.name("s"), "summary");
  EXPECT_EQ(log.name("m"), "meta");
  EXPECT_EQ(log.name("b"), "user");
  EXPECT_EQ(log.name("t"), "task");
  EXPECT_EQ(conversation_ends(log.index(), log.index().leaf()).size(), 1U) << "a sub-agent's rows are no branch";
}

TEST(ClaudePeople, HooksAreNoBranchesAndSayWhatTheySaid) {
  Rows rows;
  rows.user("u", "").block("a", "u", "m", text_block("ran"));
  rows.row("attachment", "h", "a", R"("attachment":{"type":"hook_success","hookName":"Stop","content":"fine"})");
  rows.row("attachment", "k", "a",
           R"("attachment":{"type":"hook_blocking_error","hookName":"Edit","blockingError":{"blockingError":"no"}})");
  rows.row("attachment", "d", "a", R"("attachment":{"type":"date_change","newDate":"2026-05-02"})");
  rows.user("v", "a").block("b", "v", "n", text_block("again"));
  const ClaudeLog log = rows.log();
  EXPECT_EQ(conversation_ends(log.index(), log.index().leaf()), std::vector<Ordinal>{7});
  EXPECT_EQ(log.text(3), "Stop: fine\n");
  EXPECT_EQ(log.text(4), "Edit: no\n");
  EXPECT_EQ(count(log.text(5), "newDate: 2026-05-02"), 1U);
  EXPECT_EQ(count(log.text(5), "uuid"), 0U);
}

TEST(ClaudePeople, TheLeafBelowTheLastAnswerEndsItsBranch) {
  Rows rows;
  rows.user("u", "").block("a", "u", "m", text_block("ran"));
  rows.row("attachment", "h", "a", R"("attachment":{"type":"hook_success","hookName":"Stop","content":"fine"})");
  const ClaudeLog log = rows.log();
  EXPECT_EQ(conversation_ends(log.index(), log.index().leaf()), std::vector<Ordinal>{3});
  EXPECT_EQ(conversation_ends(log.index(), 2), std::vector<Ordinal>{2});
}

TEST(ClaudePeople, ACompactionIsALineOfTheTranscript) {
  Rows rows;
  rows.user("u", "").block("a", "u", "m", text_block("first answer")).row("system", "k", "", boundary("a"));
  rows.row("user", "s", "k", said("the summary", R"(,"isCompactSummary":true)")).user("v", "s");
  rows.row("system", "l", "", boundary("v")).user("z", "l");
  const ClaudeLog log = rows.log();
  const std::string transcript = log.transcript();
  EXPECT_TRUE(has_in_order(transcript, {"of u", "first answer", "the summary", "of v", "of z"})) << transcript;
  EXPECT_EQ(count(transcript, kCompacted), 2U);
  EXPECT_EQ(count(transcript, kGap), 0U);
  EXPECT_EQ(conversation_ends(log.index(), log.index().leaf()).size(), 1U);
  EXPECT_EQ(log.id(first_prompt(log.index())), "u");
  EXPECT_EQ(log.context(), "{\"messages\":[\n{\"role\":\"user\",\"content\":\"of z\"}\n]}\n");
}

TEST(ClaudePeople, ACompactionWithoutItsPartnerFollowsTheRowBeforeIt) {
  Rows lost;
  lost.user("u", "").row("system", "k", "", boundary("lost")).user("v", "k");
  EXPECT_TRUE(has_in_order(lost.log().transcript(), {"of u", std::string(kCompacted), "of v"}));
  Rows bare;  // only a summary
  bare.user("u", "").row("user", "s", "", said("the summary", R"(,"isCompactSummary":true)")).user("v", "s");
  EXPECT_TRUE(has_in_order(bare.log().transcript(), {"of u", std::string(kCompacted), "the summary", "of v"}));
}

TEST(ClaudePeople, AGapIsALineOfTheTranscript) {
  Rows rows;
  rows.user("u", "").block("a", "u", "m", text_block("old answer")).user("v", "lost");
  rows.line(R"({"type":"user","uuid":"w","message":{"role":"user","content":"of w"}})");
  const ClaudeLog log = rows.log();
  const std::string transcript = log.transcript();
  EXPECT_TRUE(
      has_in_order(transcript, {"of u", "old answer", "*2 earlier entries are", "of v", "*1 earlier entry is", "of w"}))
      << transcript;
  EXPECT_EQ(conversation_ends(log.index(), log.index().leaf()).size(), 1U);
  EXPECT_EQ(count(Rows().user("v", "lost").log().transcript(), "does not have what came before"), 1U);
}

TEST(ClaudePeople, AnEditedFirstPromptIsABranchAndNoGap) {
  const ClaudeLog log = Rows().user("u", "").user("v", "").log();
  EXPECT_EQ(conversation_ends(log.index(), log.index().leaf()).size(), 2U);
  EXPECT_EQ(count(log.transcript(), "of u"), 0U);
  EXPECT_EQ(count(log.transcript(), kGap), 0U);
}

}  // namespace
}  // namespace arborfs::conformance
