// The rules of Claude Code's transcripts (claude/FORMAT.md), each tested with rows made for it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json/document.h"
#include "tests/support/claude_log.h"

namespace arborfs::conformance {
namespace {

using tests::ClaudeLog;
using tests::Rows;
using tests::Texts;

/// a - b - c, and d below a.
Rows forked() {
  return Rows().user("a", "").user("b", "a").user("c", "b").user("d", "a");
}

TEST(ClaudeLeaf, IsTheLastRowWithoutAPin) {
  EXPECT_EQ(forked().log().path(), (Texts{"a", "d"}));
  EXPECT_EQ(forked().pin("\"00000000-0000-0000-0000-000000000000\"", R"(,"explicit":true)").log().path(),
            (Texts{"a", "d"}));
  const std::string sidechain = R"({"type":"user","uuid":"x","parentUuid":null,"isSidechain":true})";
  EXPECT_EQ(forked().line(sidechain).log().path(), (Texts{"a", "d"}));
  EXPECT_EQ(Rows().line(sidechain).log().path(), Texts{"x"});
}

TEST(ClaudeLeaf, IsThePinUnlessTheLastRowIsBelowIt) {
  EXPECT_EQ(forked().pin("\"c\"").log().path(), (Texts{"a", "b", "c"}));
  EXPECT_EQ(forked().pin("\"a\"").log().path(), (Texts{"a", "d"}));
  EXPECT_EQ(forked().pin("\"a\"", R"(,"explicit":true)").log().path(), Texts{"a"});
  EXPECT_EQ(forked().pin("\"a\"", R"(,"explicit":true)").user("e", "a").log().path(), (Texts{"a", "e"}));
  EXPECT_EQ(forked().pin("\"c\"").pin("\"d\"").log().path(), (Texts{"a", "d"}));
  EXPECT_EQ(forked().pin("\"c\"").user("e", "c").log().path(), (Texts{"a", "b", "c", "e"}));
}

TEST(ClaudeLeaf, RewindingToTheStartLeavesNoPath) {
  EXPECT_EQ(forked().pin("null", R"(,"explicit":true)").log().path(), Texts());
  EXPECT_EQ(forked().pin("null", R"(,"explicit":true)").user("e", "").log().path(), Texts{"e"});
  EXPECT_EQ(forked().pin("\"c\"").pin("null").log().path(), (Texts{"a", "b", "c"}));
}

TEST(ClaudeLeaf, ABoundaryResetsThePin) {
  const std::string boundary = R"("subtype":"compact_boundary","logicalParentUuid":"d")";
  EXPECT_EQ(forked().pin("\"c\"").row("system", "k", "", boundary).user("s", "k").log().path(), (Texts{"k", "s"}));
}

TEST(ClaudeTree, PartsOfAReplyStandInARow) {
  Rows rows;
  rows.user("u", "").call("a1", "u", "m").call("a2", "a1", "m").result("r1", "a1").result("r2", "a2").user("v", "r2");
  const ClaudeLog log = rows.log();
  EXPECT_EQ(log.path(), (Texts{"u", "a1", "a2", "r1", "r2", "v"}));
  EXPECT_EQ(log.index().tip_count(), 1U);
  EXPECT_EQ(plain_usage_json(log.details().usage()), R"({"input":5,"output":1})");
}

TEST(ClaudeTree, ResultsThatComeBetweenBlocksAreSentBehindThem) {
  Rows rows;
  rows.user("u", "").call("a1", "u", "m").result("r1", "a1").row("attachment", "x", "r1", R"("attachment":{})");
  rows.call("a2", "a1", "m").result("r2", "a2").user("v", "r1");
  const ClaudeLog log = rows.log();
  EXPECT_EQ(log.path(), (Texts{"u", "a1", "r1", "x", "a2", "r2", "v"}));
  EXPECT_EQ(log.index().tip_count(), 1U);
  json::Document context;
  ASSERT_TRUE(json::parse(log.context(), context));
  const json::Value& messages = *json::member(context, "messages");
  ASSERT_EQ(messages.GetArray().Size(), 3U);
  EXPECT_EQ(json::member(messages[1], "content")->GetArray().Size(), 2U);
  EXPECT_EQ(json::member(messages[2], "content")->GetArray().Size(), 3U);
}

/// Rows without a uuid stand where they are in the file, and are not sent.
TEST(ClaudeTree, RowsWithoutAUuidStandInTheirPlace) {
  const std::string loose = R"({"type":"user","message":{"role":"user","content":"loose"}})";
  Rows rows;
  rows.user("a", "").line(loose).user("b", "a").line(loose).line(loose);
  const ClaudeLog log = rows.log();
  const Texts path = log.path();
  ASSERT_EQ(path.size(), 5U);
  EXPECT_EQ(path[0], "a");
  EXPECT_EQ(path[2], "b");
  EXPECT_TRUE(path[4].starts_with("row-")) << path[4];
  EXPECT_EQ(log.index().tip_count(), 1U);
  EXPECT_EQ(log.context().find("loose"), std::string::npos);
  EXPECT_NE(log.text(2).find("loose"), std::string::npos);
  EXPECT_EQ(Rows().line(loose).line(loose).log().path().size(), 2U);
}

TEST(ClaudeTree, RowsOfUnknownTypesAreCounted) {
  const ClaudeLog log = Rows().user("a", "").line(R"({"type":"new-row","uuid":"x"})").line("[1]").line("5").log();
  EXPECT_EQ(log.path(), Texts{"a"});
  EXPECT_TRUE(log.index().damage().empty());
  EXPECT_EQ(log.index().not_shown().by_type(), (RecordCounts::ByType{{"new-row", 1}, {"value", 2}}));
}

TEST(ClaudeTree, EditedPromptsAreBranches) {
  Rows rows;
  rows.user("u", "").block("a", "u", "m", R"({"type":"text","text":"x"})").user("v", "a").user("w", "a");
  EXPECT_EQ(rows.log().path(), (Texts{"u", "a", "w"}));
  EXPECT_EQ(rows.log().index().tip_count(), 2U);
}

TEST(ClaudeTree, ProgressIsPassedOverAndOtherTypesAreNoParents) {
  Rows rows;
  rows.user("u", "").row("progress", "p", "u", R"("x":1)").row("progress", "q", "p", R"("x":1)").user("v", "q");
  EXPECT_EQ(rows.log().path(), (Texts{"u", "v"}));
  const ClaudeLog log = Rows().user("u", "").row("new-type", "n", "u", R"("x":1)").user("v", "n").log();
  EXPECT_EQ(log.index().size(), 2U);
  EXPECT_TRUE(log.index().is_orphan(2));
}

TEST(ClaudeTree, LoopsEndAndTheLastRowOfAUuidCounts) {
  const ClaudeLog loop = Rows().user("a", "b").user("b", "a").log();
  EXPECT_EQ(loop.path().size(), 2U);
  const ClaudeLog twice = Rows().user("a", "").user("b", "a").user("b", "").log();
  EXPECT_EQ(twice.path(), Texts{"b"});
  EXPECT_EQ(twice.index().size(), 3U);
}

TEST(ClaudeRows, KindsHaveNames) {
  Rows rows;
  rows.user("a", "", R"(,"isMeta":true)").user("b", "a", R"(,"isCompactSummary":true)").result("c", "b");
  rows.row("user", "x", "c", R"("message":{"role":"user","content":"<bash-input>ls</bash-input>"})");
  rows.row("attachment", "d", "x",
           R"("attachment":{"type":"queued_command","prompt":"now","origin":{"kind":"human"}})");
  rows.row("attachment", "e", "d", R"("attachment":{"type":"date"})").row("system", "f", "e", R"("subtype":"x")");
  const ClaudeLog log = rows.log();
  Texts names;
  for (Ordinal ordinal = 1; ordinal <= log.index().size(); ++ordinal) {
    names.emplace_back(log.index().name(ordinal));
  }
  EXPECT_EQ(names, (Texts{"meta", "summary", "tool", "command", "user", "attachment", "system"}));
  EXPECT_EQ(log.text(5), "now\n");
  json::Document context;
  ASSERT_TRUE(json::parse(log.context(), context));
  EXPECT_EQ(
      json::stringify(*json::member(context, "messages")),
      R"([{"role":"user","content":[{"type":"text","text":"of a"},{"type":"text","text":"of b"},)"
      R"({"type":"tool_result","tool_use_id":"t","content":"of c"},{"type":"text","text":"<bash-input>ls</bash-input>"},{"type":"text","text":"now"}]}])");
}

TEST(ClaudeRows, BadLinesAreDamage) {
  Rows rows;
  rows.line("not json").line("").line(std::string("\0{}", 3)).line("\xEF\xBB\xBF{}");
  rows.line(R"({"type":"user","uuid":"a","x":"\q"})").user("b", "").line(R"({"type":"user","uuid":"c"} {"x":1})");
  const ClaudeLog log(rows.bytes() + R"({"type":"user","uuid":"d")");
  EXPECT_EQ(log.ids([](Ordinal) { return true; }), (Texts{"b", "c"}));
  std::vector<Damage::Kind> kinds;
  for (const Damage& run : log.index().damage()) {
    kinds.push_back(run.kind);
  }
  using Kind = Damage::Kind;
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::malformed, Kind::nul, Kind::malformed, Kind::malformed, Kind::fused,
                                      Kind::unfinished}));
  EXPECT_TRUE(log.index().damage().back().in_progress);
  EXPECT_EQ(log.raw(2), R"({"type":"user","uuid":"c"})");
}

TEST(ClaudeRows, OddSpellingsAreReadAlike) {
  const ClaudeLog log = Rows()
                            .line(R"({"\u0074ype":"user","uuid":"\u0061","type":"user","uuid":"b\/c"})")
                            .line("{\"type\":\"user\",\"uuid\":\"d\",\"parentUuid\":\"b/c\",\"x\":\"\xff\"}")
                            .line(R"({"type":"user","uuid":"e","parentUuid":"d","x":)" + std::string(100, '[') +
                                  std::string(100, ']') + "}\r")
                            .log();
  EXPECT_EQ(log.path(), (Texts{"b/c", "d", "e"}));
  EXPECT_TRUE(log.index().damage().empty());
}

/// Lines that cross the borders of what is read at a time, and lines longer than that.
TEST(ClaudeRows, LinesOfAnyLengthAreReadOnce) {
  Rows rows;
  std::size_t count = 0;
  for (std::size_t length : {100U, 300'000U, 524'288U, 7U, 1'600'000U, 262'144U}) {
    for (int i = 0; i < 7; ++i) {
      const std::string id = std::to_string(++count);
      rows.user(id, count == 1 ? "" : std::to_string(count - 1), R"(,"pad":")" + std::string(length, 'x') + '"');
    }
  }
  const ClaudeLog log = rows.log();
  EXPECT_EQ(log.index().size(), count);
  EXPECT_EQ(log.path().size(), count);
  std::uint64_t at = 0;
  for (Ordinal ordinal = 1; ordinal <= log.index().size(); ++ordinal) {
    EXPECT_EQ(log.index().entry(ordinal).offset, at);
    at += log.index().length(ordinal) + 1;
  }
  EXPECT_EQ(at, rows.bytes().size());
}

TEST(ClaudeContext, PreservedSegmentsAndMissingRows) {
  const std::string metadata = R"("subtype":"compact_boundary","compactMetadata":{"preservedSegment":)";
  Rows rows = forked();
  rows.row("system", "k", "", metadata + R"({"headUuid":"b","tailUuid":"c","anchorUuid":"s"}})").user("s", "k");
  EXPECT_EQ(rows.log().context(),
            "{\"messages\":[\n{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"of s\"},"
            "{\"type\":\"text\",\"text\":\"of b\"},{\"type\":\"text\",\"text\":\"of c\"}]}\n]}\n");
  Rows missing = forked();
  missing.row("system", "k", "", metadata + R"({"headUuid":"z","tailUuid":"c","anchorUuid":"s"}})").user("s", "k");
  EXPECT_EQ(missing.log().context(), "{\"messages\":[\n{\"role\":\"user\",\"content\":\"of s\"}\n]}\n");
}

TEST(ClaudeContext, FailuresOfRequestsAreNotSent) {
  Rows rows = forked();
  rows.row("assistant", "e", "d",
           R"("isApiErrorMessage":true,"message":{"model":"<synthetic>","role":"assistant","content":[]})");
  EXPECT_EQ(rows.log().context(),
            "{\"messages\":[\n{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"of a\"},"
            "{\"type\":\"text\",\"text\":\"of d\"}]}\n]}\n");
}

TEST(ClaudeHeads, TitlesComeFromTheEndsOfALog) {
  const std::string custom = R"({"type":"custom-title","customTitle":"Mine","sessionId":"s"})";
  const std::string made = R"({"type":"ai-title","aiTitle":"Made","sessionId":"s"})";
  const std::string far = R"({"type":"user","uuid":"f","pad":")" + std::string(70'000, 'x') + "\"}";
  const auto title = [](const Rows& rows) { return rows.log().index().header().title; };
  EXPECT_EQ(title(forked().line(custom).line(made)), "Mine");
  EXPECT_EQ(title(forked().line(custom).line(far).line(made)), "Mine");
  EXPECT_EQ(title(forked().line(far).line(custom).line(far).line(made)), "Made");
  EXPECT_EQ(title(forked().line(R"({"type":"x","customTitle":"No"})")), "");
  EXPECT_TRUE(ClaudeLog("").index().header().valid);  // a log without a conversation is normal (D4)
}

TEST(ClaudeTexts, ShowThinkingCallsAndErrors) {
  Rows rows;
  rows.block("a", "", "m",
             R"({"type":"thinking","thinking":"Hm."},{"type":"text","text":"I look."},)"
             R"({"type":"tool_use","id":"t","name":"Read","input":{"path":"x"}})");
  rows.row("user", "b", "a",
           R"("message":{"content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"no"},)"
           R"({"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lG"}}]}]})");
  const ClaudeLog log = rows.log();
  EXPECT_EQ(log.text(1), "> Hm.\n\nI look.\n\n```\nRead\npath: x\n```\n");
  EXPECT_EQ(log.text(2), "**error**\n\n```\nno\n```\n\n[image 1: image/gif]\n");
  EXPECT_EQ(log.details().images().size(), 1U);
}

TEST(ClaudeText, RowsWithoutAMessageSayWhatTheyNote) {
  Rows rows;
  rows.row("system", "s", "", R"("subtype":"turn_duration","durationMs":12)");
  rows.row("attachment", "a", "s", R"("attachment":{"type":"prompt_snapshot","tools":[{"name":"Read"}]})");
  rows.row("attachment", "b", "a", R"("attachment":{"type":"session_context","context":{}})");
  const ClaudeLog log = rows.log();
  const auto words = [&](Ordinal ordinal) {
    return claude::format().renderer->first_words(log.index().entry(ordinal).type, log.raw(ordinal), 80);
  };
  EXPECT_EQ(words(1), "turn_duration durationMs: 12");
  EXPECT_EQ(words(2), "type: prompt_snapshot tools:   -     name: Read");
  EXPECT_EQ(words(3), "type: session_context context: {}");
}

}  // namespace
}  // namespace arborfs::conformance
