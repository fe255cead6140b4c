#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/formats/omp/edit/append_command.h"
#include "core/formats/omp/log/dialect.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::omp {
namespace {

constexpr std::int64_t kNow = 1'771'237'230'000;  // 2026-02-16T10:20:30Z
const std::string kStamp = R"("id":"0000000a","parentId":"0000000b","timestamp":"2026-02-16T10:20:30.000Z")";

std::string line_of(const EntryDraft& draft) {
  return draft.line({"0000000a", "\"0000000b\"", kNow});
}

/// The one line that a command yields, without its line feed; "!" and the error if it is refused.
std::string json_line(std::string_view text, Dialect dialect = Dialect::omp13) {
  const auto command = json_command(std::string(text), dialect, kNow);
  if (!command) {
    return "!" + command.error().message;
  }
  EXPECT_EQ(command->drafts.size(), 1U);
  std::string line = line_of(command->drafts.at(0));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  line.pop_back();
  return line;
}

Errc refusal(std::string_view text, Dialect dialect = Dialect::omp13) {
  const auto command = json_command(std::string(text), dialect, kNow);
  EXPECT_FALSE(command.has_value()) << text;
  return command ? Errc::io : command.error().code;
}

std::string message_line(const std::string& message) {
  return R"({"type":"message",)" + kStamp + R"(,"message":)" + message + "}";
}

TEST(WriteAppendText, BecomesOneUserMessage) {
  const auto command = text_command("say \"hi\"\nand bye\n\n", Dialect::omp13, kNow);
  ASSERT_TRUE(command.has_value());
  ASSERT_EQ(command->drafts.size(), 1U);
  EXPECT_FALSE(command->force);
  EXPECT_FALSE(command->if_leaf.has_value());
  EXPECT_EQ(command->drafts[0].type, EntryType::message);
  EXPECT_FALSE(command->drafts[0].is_assistant);
  EXPECT_EQ(line_of(command->drafts[0]),
            message_line(R"({"role":"user","content":[{"type":"text","text":"say \"hi\"\nand bye\n"}],)"
                         R"("timestamp":1771237230000})") +
                "\n");
}

TEST(WriteAppendText, RefusesEmptyInvalidAndLongText) {
  EXPECT_EQ(text_command("", Dialect::omp13, kNow).error().code, Errc::invalid_argument);
  EXPECT_EQ(text_command("\n", Dialect::omp13, kNow).error().code, Errc::invalid_argument);
  EXPECT_EQ(text_command("a\xFF", Dialect::omp13, kNow).error().code, Errc::not_utf8);
  EXPECT_EQ(text_command("\xED\xA0\x80", Dialect::omp13, kNow).error().code, Errc::not_utf8);
  EXPECT_EQ(text_command(std::string(kMaxCommandBytes + 1, 'a'), Dialect::omp13, kNow).error().code, Errc::too_large);
}

TEST(WriteAppendJson, MessagesGetATimestamp) {
  EXPECT_EQ(json_line(R"({"role":"user","content":"hi"})"),
            message_line(R"({"role":"user","content":"hi","timestamp":1771237230000})"));
  EXPECT_EQ(json_line(R"({"role":"user","timestamp":7.0,"content":[]})"),
            message_line(R"({"role":"user","timestamp":7,"content":[]})"));
  EXPECT_EQ(json_line(R"({"type":"message","id":"x","parentId":"y","timestamp":"z","message":{"role":"x-own"}})"),
            message_line(R"({"role":"x-own","timestamp":1771237230000})"));
  EXPECT_EQ(json_line(R"({"role":"toolResult","toolCallId":"c","content":"\ud800"})"),
            message_line(R"({"role":"toolResult","toolCallId":"c","content":"\ud800","timestamp":1771237230000})"));
}

TEST(WriteAppendJson, AssistantMessagesGetDefaultUsage) {
  const std::string zeros = R"("usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,)"
                            R"("cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}})";
  const std::string time = R"(,"timestamp":1771237230000})";
  EXPECT_EQ(json_line(R"({"role":"assistant","content":[]})"),
            message_line(R"({"role":"assistant","content":[],)" + zeros + time));
  EXPECT_EQ(json_line(R"({"role":"assistant","content":[],"usage":null})"),
            message_line(R"({"role":"assistant","content":[],)" + zeros + time));
  EXPECT_EQ(json_line(R"({"role":"assistant","usage":{"output":3,"cost":{"total":0.5}},"content":"a"})"),
            message_line(R"({"role":"assistant","usage":{"output":3,"cost":{"total":0.5,"input":0,"output":0,)"
                         R"("cacheRead":0,"cacheWrite":0},"input":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0},)"
                         R"("content":"a")" +
                         time));
  EXPECT_EQ(refusal(R"({"role":"assistant","content":"a","usage":5})"), Errc::invalid_argument);
  EXPECT_EQ(refusal(R"({"role":"assistant","content":"a","usage":{"cost":5}})"), Errc::invalid_argument);
  const auto command = json_command(R"({"role":"assistant","content":[]})", Dialect::omp13, kNow);
  EXPECT_TRUE(command->drafts.at(0).is_assistant);
  EXPECT_NE(json_line(R"({"role":"toolResult","toolCallId":"c","toolName":"task","content":"","details":{"usage":{}}})")
                .find(R"("cost":{)"),
            std::string::npos);
}

TEST(WriteAppendJson, MessagesUnreadableForAgentsAreRefused) {
  for (const char* text :
       {R"({"role":""})", R"({"role":5,"content":"a"})", R"({"role":"user"})", R"({"role":"user","content":5})",
        R"({"role":"assistant"})", R"({"role":"toolResult","content":"a"})",
        R"({"role":"toolResult","content":"a","toolCallId":1})", R"({"role":"toolResult","toolCallId":"c"})",
        R"({"role":"user","content":"a","timestamp":"now"})", R"({"role":"bashExecution"})", R"({"type":"message"})",
        R"({"type":"message","message":null})", R"({"type":"message","message":"a"})",
        R"({"type":"message","message":{}})", R"({"type":"message","message":{"role":"user"}})"}) {
    EXPECT_EQ(refusal(text), Errc::invalid_argument) << text;
    EXPECT_EQ(refusal(text, Dialect::omp18), Errc::invalid_argument) << text;
  }
}

TEST(WriteAppendJson, EachTypeHasTheMemberOrderOfTheAgents) {
  const auto plain = [](std::string_view type, const std::string& rest) {
    return R"({"type":")" + std::string(type) + "\"," + kStamp + rest + "}";
  };
  EXPECT_EQ(json_line(R"({"type":"label","label":"x","own":1,"targetId":"t","7":2})"),
            R"({"7":2,"type":"label",)" + kStamp + R"(,"targetId":"t","label":"x","own":1})");
  EXPECT_EQ(json_line(R"({"type":"custom","own":1,"data":{"b":1,"a":2},"customType":"c"})"),
            R"({"type":"custom","customType":"c","data":{"b":1,"a":2},)" + kStamp + R"(,"own":1})");
  EXPECT_EQ(json_line(R"({"type":"custom_message","display":true,"content":"t","customType":"c"})"),
            R"({"type":"custom_message","customType":"c","content":"t","display":true,"attribution":"agent",)" +
                kStamp + "}");
  EXPECT_EQ(json_line(R"({"type":"thinking_level_change","thinkingLevel":"high"})"),
            plain("thinking_level_change", R"(,"thinkingLevel":"high")"));
  EXPECT_EQ(json_line(R"({"type":"thinking_level_change","thinkingLevel":"high"})", Dialect::omp18),
            plain("thinking_level_change", R"(,"thinkingLevel":"high","configured":null)"));
  EXPECT_EQ(json_line(R"({"type":"model_change","model":"a/b"})"), plain("model_change", R"(,"model":"a/b")"));
  EXPECT_EQ(json_line(R"({"type":"model_change","model":"a/b"})", Dialect::omp18),
            plain("model_change", R"(,"model":"a/b","role":"default","resolvedModelIsFallback":false)"));
  EXPECT_EQ(json_line(R"({"type":"service_tier_change","serviceTier":null})"),
            plain("service_tier_change", R"(,"serviceTier":null)"));
  EXPECT_EQ(json_line(R"({"type":"mode_change","data":null,"mode":"plan"})"),
            plain("mode_change", R"(,"mode":"plan","data":null)"));
  EXPECT_EQ(json_line(R"({"type":"session_init","task":"t","systemPrompt":"s","tools":["a"]})"),
            plain("session_init", R"(,"task":"t","systemPrompt":"s","tools":["a"])"));
  EXPECT_EQ(json_line(R"({"type":"compaction","tokensBefore":5,"own":1,"firstKeptEntryId":"k","summary":"s"})"),
            plain("compaction", R"(,"summary":"s","firstKeptEntryId":"k","tokensBefore":5,"own":1)"));
  EXPECT_EQ(refusal(R"({"type":"compaction","tokensBefore":5,"tokensAfter":1,"firstKeptEntryId":"k","summary":"s"})"),
            Errc::invalid_argument)
      << "it would make the log one of 18";
  EXPECT_EQ(json_line(R"({"type":"branch_summary","summary":"s","fromId":"f"})"),
            plain("branch_summary", R"(,"fromId":"f","summary":"s")"));
  EXPECT_EQ(json_line(R"({"type":"ttsr_injection","injectedRules":["r"]})"),
            plain("ttsr_injection", R"(,"injectedRules":["r"])"));
  EXPECT_EQ(json_line(R"({"type":"mcp_tool_selection","selectedToolNames":[]})"),
            plain("mcp_tool_selection", R"(,"selectedToolNames":[])"));
  EXPECT_EQ(json_line(R"({"type":"title_change","trigger":"r","title":"t","source":"user","previousTitle":"p"})",
                      Dialect::omp18),
            plain("title_change", R"(,"title":"t","source":"user","previousTitle":"p","trigger":"r")"));
  EXPECT_EQ(json_line(R"({"type":"credential_pin","hash":"h","provider":"p"})", Dialect::omp18),
            plain("credential_pin", R"(,"provider":"p","hash":"h")"));
  EXPECT_EQ(json_line(R"({"type":"reset_boundary"})", Dialect::omp18), plain("reset_boundary", ""));
  EXPECT_NE(json_line(R"({"type":"model_usage","purpose":"title"})", Dialect::omp18).find(R"("cost":{)"),
            std::string::npos);
}

TEST(WriteAppendJson, BranchSummaryNamesItsParentAsOrigin) {
  const auto command = json_command(R"({"type":"branch_summary","summary":"s"})", Dialect::omp13, kNow);
  ASSERT_TRUE(command.has_value());
  const EntryDraft& draft = command->drafts.at(0);
  EXPECT_EQ(draft.line({"0000000a", "\"0000000b\"", kNow}),
            R"({"type":"branch_summary",)" + kStamp + R"(,"fromId":"0000000b","summary":"s"})" + "\n");
  EXPECT_NE(draft.line({"0000000a", "null", kNow}).find(R"("parentId":null,)"), std::string::npos);
  EXPECT_NE(draft.line({"0000000a", "null", kNow}).find(R"("fromId":"root","summary")"), std::string::npos);
}

TEST(WriteAppendJson, EntriesUnreadableForAgentsAreRefused) {
  for (const char* text : {R"({"type":"ttsr_injection"})",
                           R"({"type":"ttsr_injection","injectedRules":"r"})",
                           R"({"type":"ttsr_injection","injectedRules":[1]})",
                           R"({"type":"label"})",
                           R"({"type":"label","targetId":5})",
                           R"({"type":"label","targetId":"t","label":5})",
                           R"({"type":"compaction","summary":"s","firstKeptEntryId":"k"})",
                           R"({"type":"compaction","summary":"s","tokensBefore":1})",
                           R"({"type":"compaction","firstKeptEntryId":"k","tokensBefore":1})",
                           R"({"type":"custom"})",
                           R"({"type":"custom_message","customType":"c"})",
                           R"({"type":"custom_message","content":"c"})",
                           R"({"type":"branch_summary"})",
                           R"({"type":"model_change"})",
                           R"({"type":"mode_change"})",
                           R"({"type":"thinking_level_change"})",
                           R"({"type":"service_tier_change","serviceTier":5})",
                           R"({"type":"mcp_tool_selection","selectedToolNames":null})",
                           R"({"type":"session_init"})",
                           R"({"type":"session","version":3,"id":"a"})",
                           R"({"type":"title","v":1})",
                           R"({"type":"nonsense"})",
                           R"({"type":""})",
                           R"({"type":null})",
                           R"({"type":null,"role":"user","content":"a"})",
                           "{}",
                           "[]",
                           "5",
                           "null",
                           R"("text")",
                           R"([{"role":"user","content":"a"}])",
                           R"({"role":"user","content":"a"},{})",
                           "",
                           " \n",
                           R"({"role":"user","content":"a")",
                           R"({"role":"user","content":"a",})",
                           R"({"role":'user'})"}) {
    EXPECT_EQ(refusal(text), Errc::invalid_argument) << text;
    EXPECT_EQ(refusal(text, Dialect::omp18), Errc::invalid_argument) << text;
  }
}

TEST(WriteAppendJson, NewerTypesAreRefusedInOlderLogs) {
  for (const char* text : {R"({"type":"title_change","title":"t"})", R"({"type":"model_usage"})",
                           R"({"type":"credential_pin","provider":"p","hash":"h"})", R"({"type":"reset_boundary"})"}) {
    EXPECT_EQ(refusal(text), Errc::invalid_argument) << text;
    EXPECT_NE(json_line(text).find("written only by newer agents"), std::string::npos);
    EXPECT_NE(json_line(text, Dialect::omp18)[0], '!');
  }
}

TEST(WriteAppendJson, SeveralObjectsAndOptionsAreParsed) {
  const auto command = json_command(
      "{\"role\":\"user\",\"content\":\"a\",\"force\":true}\n\n {\"ifLeaf\":\"root\",\"type\":\"custom\",\n"
      "\"customType\":\"c\"}{\"role\":\"user\",\"content\":\"b\",\"force\":false,\"ifLeaf\":\"root\"}",
      Dialect::omp13, kNow);
  ASSERT_TRUE(command.has_value()) << command.error().message;
  ASSERT_EQ(command->drafts.size(), 3U);
  EXPECT_TRUE(command->force);
  EXPECT_EQ(command->if_leaf, "root");
  EXPECT_EQ(line_of(command->drafts[1]), R"({"type":"custom","customType":"c",)" + kStamp + "}\n");
  EXPECT_EQ(line_of(command->drafts[2]).find("Leaf"), std::string::npos);
  EXPECT_EQ(line_of(command->drafts[0]).find("force"), std::string::npos);
  EXPECT_EQ(refusal(R"({"role":"user","content":"a","force":1})"), Errc::invalid_argument);
  EXPECT_EQ(refusal(R"({"role":"user","content":"a","ifLeaf":null})"), Errc::invalid_argument);
  EXPECT_EQ(refusal(R"({"role":"user","content":"a","ifLeaf":"a"}{"role":"user","content":"a","ifLeaf":"b"})"),
            Errc::invalid_argument);
}

TEST(WriteAppendJson, ErrorsNameTheObjectNotItsContent) {
  const std::string good = R"({"role":"user","content":"SECRET"})";
  EXPECT_EQ(json_line(good + "\n" + good + R"({"type":"label","label":"SECRET"})"),
            R"(!object 3: "targetId" is missing; it must be a string)");
  EXPECT_EQ(json_line(R"({"type":"SECRET"})"), R"(!object 1: "type" is not a type that omp knows)");
  EXPECT_EQ(json_line(good + "SECRET"), "!object 2: not a JSON object");
  EXPECT_EQ(json_line(good + R"({"SECRET":)"), "!object 2: not complete");
}

TEST(WriteAppendJson, ExcessiveInputIsRefused) {
  const auto nested = [](int levels) {
    return R"({"type":"custom","customType":"c","data":)" + std::string(levels - 1, '[') +
           std::string(levels - 1, ']') + "}";
  };
  EXPECT_NE(json_line(nested(512))[0], '!');
  EXPECT_EQ(refusal(nested(513)), Errc::invalid_argument);
  EXPECT_NE(json_line(R"({"role":"user","content":")" + std::string(2000, '[') + "\"}")[0], '!')
      << "text is not nested";
  EXPECT_EQ(refusal("{\"role\":\"user\",\"content\":\"\xC3\"}"), Errc::not_utf8);
  EXPECT_EQ(refusal(std::string(kMaxCommandBytes + 1, ' ')), Errc::too_large);
  json::testing::on_small_stack([&nested] { EXPECT_EQ(refusal(nested(3'000'000)), Errc::invalid_argument); });
}

TEST(WriteDraft, AcceptsOnlyTypesOfItsDialect) {
  const auto code = [](std::string_view text, Dialect dialect) {
    json::Document entry;
    EXPECT_TRUE(json::parse(text, entry));
    const auto draft = make_draft(entry, dialect);
    return draft ? std::string("ok") : draft.error().code == Errc::invalid_argument ? "invalid" : "other";
  };
  EXPECT_EQ(code(R"({"type":"reset_boundary"})", Dialect::omp18), "ok");
  EXPECT_EQ(code(R"({"type":"reset_boundary"})", Dialect::omp13), "invalid");
  EXPECT_EQ(code(R"({"type":"session"})", Dialect::omp13), "invalid");
  EXPECT_EQ(code(R"({"type":"own"})", Dialect::omp13), "invalid");
  EXPECT_EQ(code("[]", Dialect::omp13), "invalid");
  EXPECT_EQ(code(R"({"type":"message"})", Dialect::omp13), "ok") << "what is in it is not its business";
}

TEST(WriteDraft, EscapesAnyId) {
  json::Document entry;
  ASSERT_TRUE(json::parse(R"({"type":"mode_change","mode":"none"})", entry));
  const auto draft = make_draft(entry, Dialect::omp13);
  ASSERT_TRUE(draft.has_value());
  EXPECT_EQ(draft->line({"a\"\n", "5", 0}),
            "{\"type\":\"mode_change\",\"id\":\"a\\\"\\n\",\"parentId\":5,\"timestamp\":\"1970-01-01T00:00:00.000Z\","
            "\"mode\":\"none\"}\n");
}

}  // namespace
}  // namespace arborfs::omp
