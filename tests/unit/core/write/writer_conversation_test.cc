// A conversation in terms that all agents share: results after their calls, and text for calls without results and
// results without calls.
#include <gtest/gtest.h>

#include <string>

#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "core/write/conversation.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::TempStore;
using Kind = TurnPart::Kind;

class ConversationTest : public ::testing::Test {
 protected:
  /// Adds a message as a child of the previous one.
  void add(const std::string& message) {
    const std::string id = "e" + std::to_string(++entries_);
    log_ += R"({"type":"message","id":")" + id + R"(","parentId":)" +
            (entries_ == 1 ? "null" : "\"e" + std::to_string(entries_ - 1) + "\"") +
            R"(,"timestamp":"2026-02-16T10:20:3)" + std::to_string(entries_ % 10) + R"(.000Z","message":)" + message +
            "}\n";
  }
  void add_user(const std::string& blocks) { add(R"({"role":"user","content":[)" + blocks + "]}"); }
  void add_assistant(const std::string& blocks) {
    add(R"({"role":"assistant","provider":"p","model":"m","content":[)" + blocks + "]}");
  }
  void add_result(const std::string& call, const std::string& text, bool is_error = false) {
    add(R"({"role":"toolResult","toolCallId":")" + call + R"(","toolName":"t","content":[{"type":"text","text":")" +
        text + R"("}],"isError":)" + (is_error ? "true" : "false") + "}");
  }
  static std::string text(const std::string& words) { return R"({"type":"text","text":")" + words + R"("})"; }
  static std::string call(const std::string& id, const std::string& arguments) {
    return R"({"type":"toolCall","id":")" + id + R"(","name":"bash","arguments":)" + arguments + "}";
  }

  Result<Conversation> read(const std::string& target = "") {
    temp_.write("-work", "s1", TempStore::header("1f9d2a6b9c0d1234", "/work") + "\n" + log_);
    catalog_.rescan();
    const auto session = catalog_.find("1f9d2a6b9c0d1234");
    return session ? read_conversation(*session, target) : Result<Conversation>(session.error());
  }

  TempStore temp_;
  Catalog catalog_{omp::open_store(temp_.root()), "/home/sam", ""};
  std::string log_;
  int entries_ = 0;
};

TEST_F(ConversationTest, ResultsFollowTheTurnWithTheirCalls) {
  add_user(text("Go"));
  add_assistant(call("x", R"({"n":1})") + "," + call("x", R"({"n":2})"));
  add_result("x", "one");
  add_user(text("in between"));
  add_result("x", "two", true);
  const auto said = read();
  ASSERT_TRUE(said);
  ASSERT_EQ(said->turns.size(), 4U);
  const auto& calls = said->turns[1].parts;
  const auto& results = said->turns[2].parts;
  ASSERT_EQ(calls.size(), 2U);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_NE(calls[0].call_id, calls[1].call_id);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(results[i].kind, Kind::tool_result);
    EXPECT_EQ(results[i].call_id, calls[i].call_id);
    EXPECT_EQ(results[i].tool, "bash");
  }
  EXPECT_EQ(results[0].text, "one");
  EXPECT_EQ(results[1].text, "two");
  EXPECT_TRUE(results[1].is_error);
  EXPECT_EQ(said->turns[3].parts[0].text, "in between");
  EXPECT_GE(said->turns[3].time_ms, said->turns[2].time_ms);
  EXPECT_EQ(said->as_text.calls + said->as_text.results, 0U);
}

TEST_F(ConversationTest, CallsAndResultsThatNothingAnswersAreText) {
  add_user(text("Go"));
  add_assistant(call("x", R"({"n":1})"));
  add_result("other", "found");
  const auto said = read();
  ASSERT_TRUE(said);
  ASSERT_EQ(said->turns.size(), 3U);
  EXPECT_EQ(said->turns[1].parts[0].kind, Kind::text);
  EXPECT_EQ(said->turns[1].parts[0].text, "[call of the tool bash without a result: {\"n\":1}]");
  EXPECT_EQ(said->turns[2].speaker, Turn::Speaker::user);
  EXPECT_EQ(said->turns[2].parts[0].text, "[result of a tool: t]\nfound");
  EXPECT_EQ(said->as_text.calls, 1U);
  EXPECT_EQ(said->as_text.results, 1U);
}

TEST_F(ConversationTest, AnswersInSeveralRecordsAreOneTurn) {
  add_user(text("Go"));
  add_assistant(R"({"type":"thinking","thinking":"Hm"})");
  add_assistant(text("Done"));
  const auto said = read();
  ASSERT_TRUE(said);
  ASSERT_EQ(said->turns.size(), 2U);
  EXPECT_EQ(said->turns[1].parts.size(), 2U);
  EXPECT_EQ(said->turns[1].model, "m");
}

TEST_F(ConversationTest, ImagesWithoutBytesAreText) {
  add_user(R"({"type":"image","data":"blob:sha256:)" + std::string(64, 'a') +
           R"(","mimeType":"image/png"},)"
           R"({"type":"image","data":"iVBORw0KGgo","mimeType":"image/png"})");
  const auto said = read();
  ASSERT_TRUE(said);
  const auto& parts = said->turns[0].parts;
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].kind, Kind::text);
  EXPECT_EQ(parts[0].text.find("[image: image/png"), 0U);
  EXPECT_EQ(parts[1].kind, Kind::image);
  EXPECT_EQ(parts[1].images[0].base64, "iVBORw0KGgo=");
  EXPECT_EQ(said->as_text.images, 1U);
}

TEST_F(ConversationTest, HalvesOfSurrogatePairsAndOddArgumentsAreMadeReadable) {
  add_user(text("\\ud83d"));
  add_assistant(call("x", R"("ls -l")") + "," + call("y", R"({"at":"\ud83d"})"));
  add_result("x", "1");
  add_result("y", "2");
  const auto said = read();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->turns[0].parts[0].text, "\xEF\xBF\xBD");
  EXPECT_EQ(said->turns[1].parts[0].text, R"({"input":"ls -l"})");
  EXPECT_EQ(said->turns[1].parts[1].text, "{\"at\":\"\xEF\xBF\xBD\"}");
}

TEST_F(ConversationTest, ImagesThatModelsRefuseAreTextAndTypesAreThoseOfTheBytes) {
  const auto image = [](const std::string& data, const std::string& type) {
    return R"({"type":"image","data":")" + data + R"(","mimeType":")" + type + R"("})";
  };
  add_user(image("PHN2Zy8+", "image/svg+xml") + "," + image("/9j/4AAQ", "image/png") + "," +
           image("aGVsbG8=", "image/JPG"));
  const auto said = read();
  ASSERT_TRUE(said);
  const auto& parts = said->turns[0].parts;
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].text, "[image: image/svg+xml, 6 bytes]");
  EXPECT_EQ(parts[1].images[0].media_type, "image/jpeg");
  EXPECT_EQ(parts[2].images[0].media_type, "image/jpeg");
  EXPECT_EQ(said->as_text.images, 1U);
}

TEST_F(ConversationTest, NamesOfToolsBlankTextsAndAnAssistantThatBeginsAreMended) {
  add_assistant(text(" \\n\\t") + R"(,{"type":"thinking","thinking":"  "})" +
                R"(,{"type":"toolCall","id":"x","name":"mcp.größe/find","arguments":{}})" +
                R"(,{"type":"toolCall","id":"y","name":")" + std::string(200, 'n') + R"(","arguments":{}})" +
                R"(,{"type":"toolCall","id":"z","name":"","arguments":{}})");
  for (const char* id : {"x", "y", "z"}) {
    add_result(id, " ");
  }
  add_user(text("  "));
  const auto said = read();
  ASSERT_TRUE(said);
  ASSERT_EQ(said->turns.size(), 3U) << "a text of the user, the calls, their results";
  EXPECT_EQ(said->turns[0].speaker, Turn::Speaker::user);
  EXPECT_EQ(said->turns[0].parts.size(), 1U);
  ASSERT_EQ(said->turns[1].parts.size(), 3U);
  EXPECT_EQ(said->turns[1].parts[0].tool, "mcp_gr__e_find");
  EXPECT_EQ(said->turns[1].parts[1].tool, std::string(128, 'n'));
  EXPECT_EQ(said->turns[1].parts[2].tool, "unknown");
  EXPECT_EQ(said->turns[2].parts[0].text, " ") << "outputs stay as they are";
  EXPECT_EQ(said->as_text.names, 3U);
  EXPECT_EQ(said->as_text.blanks, 3U);
  EXPECT_EQ(said->as_text.starts, 1U);
}

TEST_F(ConversationTest, EndsAtTheEntryThatIsNamed) {
  add_user(text("one"));
  add_assistant(text("two"));
  const auto said = read("e1");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->turns.size(), 1U);
  EXPECT_EQ(read("e9").error().code, Errc::not_found);
}

TEST_F(ConversationTest, NotesAreCountedAndSettingsLeftOut) {
  add_user(text("one"));
  add(R"({"role":"bashExecution","command":"ls","output":"a.txt"})");
  log_ += R"({"type":"model_change","id":"m1","parentId":"e2","timestamp":"2026-02-16T10:20:39.000Z","model":"p/m"})"
          "\n";
  const auto said = read();
  ASSERT_TRUE(said);
  ASSERT_EQ(said->turns.size(), 2U);
  EXPECT_NE(said->turns[1].parts[0].text.find("a.txt"), std::string::npos);
  EXPECT_EQ(said->as_text.notes, 1U);
  EXPECT_EQ(said->left_out, 1U);
}

TEST_F(ConversationTest, PathThatSaysNothingIsRefused) {
  log_ = R"({"type":"model_change","id":"m1","parentId":null,"timestamp":"2026-02-16T10:20:39.000Z","model":"p/m"})"
         "\n";
  EXPECT_EQ(read().error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace arborfs
