// What a fork to another agent says: what the model had (context.json), or with Reach::path the whole path; never what
// the user took out (CONTRACT.md 4.9).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/write/conversation.h"
#include "tests/support/claude_log.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using Texts = std::vector<std::string>;

/// The store of one agent with one session.
class OneSession {
 public:
  explicit OneSession(const std::string& agent) : agent_(agent) {}
  OneSession& write(const std::string& path, const std::string& bytes) {
    const auto file = std::filesystem::path(temp_->root()) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return *this;
  }
  /// Every text and output, in order.
  Texts texts(Reach reach = Reach::context) {
    const auto read = conversation(reach);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    Texts texts;
    for (const Turn& turn : read ? read->turns : std::vector<Turn>()) {
      for (const TurnPart& part : turn.parts) {
        if (part.kind != TurnPart::Kind::image) {
          texts.push_back(part.text);
        }
      }
    }
    return texts;
  }
  Result<Conversation> conversation(Reach reach = Reach::context) {
    const auto stores = open_stores({{agent_, temp_->root(), false}}, Access::write);
    EXPECT_TRUE(stores);
    catalog_ = std::make_unique<Catalog>(*stores, "/home/sam", "");
    catalog_->rescan();
    const auto view = catalog_->view();
    EXPECT_EQ(view->by_id.size(), 1U);
    return read_conversation(view->by_id.begin()->second, "", reach);
  }

 private:
  std::unique_ptr<testing::TempStore> temp_ = std::make_unique<testing::TempStore>();
  std::string agent_;
  std::unique_ptr<Catalog> catalog_;
};

OneSession claude(const tests::Rows& rows) {
  OneSession made("claude");
  made.write("projects/-work/11111111-1111-4111-8111-111111111111.jsonl", rows.bytes());
  return made;
}

tests::Rows compacted_rows() {
  tests::Rows rows;
  rows.user("old", "").user("kept", "old");
  rows.block("said", "kept", "m", R"({"type":"text","text":"I said"})");
  rows.row("system", "cut", "",
           R"("subtype":"compact_boundary","logicalParentUuid":"said",)"
           R"("compactMetadata":{"preservedMessages":{"anchorUuid":"sum","uuids":["kept","said"]}})");
  rows.user("sum", "cut", R"(,"isCompactSummary":true)").user("new", "sum");
  return rows;
}

TEST(ForkedContext, HasWhatACompactionOfClaudeKeepsAndNothingBeforeIt) {
  EXPECT_THAT(claude(compacted_rows()).texts(), ElementsAre("of sum", "of kept", "I said", "of new"));
}

TEST(ForkedContext, OfTheWholePathHasWhatACompactionReplaced) {
  EXPECT_THAT(claude(compacted_rows()).texts(Reach::path),
              ElementsAre("of old", "of kept", "I said", "of sum", "of new"));
}

TEST(ForkedContext, HasWhatClaudeCodeAddsForTheModel) {
  tests::Rows rows;
  rows.user("hint", "", R"(,"isMeta":true)").user("u", "hint");
  rows.row("attachment", "file", "u",
           R"("attachment":{"type":"file"},"rendered":[{"content":"the file"},)"
           R"({"content":[{"type":"text","text":"its end"}]}])");
  rows.row("attachment", "none", "file", R"("attachment":{"type":"prompt_snapshot"})");
  rows.row("assistant", "bad", "none",
           R"("isApiErrorMessage":true,"message":{"model":"<synthetic>","role":"assistant",)"
           R"("content":[{"type":"text","text":"API Error"}]})");
  EXPECT_THAT(claude(rows).texts(), ElementsAre("of hint", "of u", "the file", "its end"));
  EXPECT_THAT(claude(rows).texts(Reach::path), ElementsAre("of hint", "of u", "the file", "its end"));
}

/// A log of omp or pi; each entry is a child of the one before it.
class Entries {
 public:
  explicit Entries(std::string bytes = testing::TempStore::header("1f9d2a6b9c0d1234", "/work") + "\n")
      : bytes_(std::move(bytes)) {}
  Entries& add(const std::string& type, const std::string& id, const std::string& members) {
    bytes_ += R"({"type":")" + type + R"(","id":")" + id + R"(","parentId":)" +
              (last_.empty() ? "null" : "\"" + last_ + "\"") + R"(,"timestamp":"2026-02-16T10:20:31.000Z",)" + members +
              "}\n";
    last_ = id;
    return *this;
  }
  Entries& say(const std::string& id, const std::string& members) {
    return add("message", id, R"("message":{)" + members + "}");
  }
  Entries& user(const std::string& id) {
    return say(id, R"("role":"user","content":"of )" + id + R"(","timestamp":1)");
  }
  Entries& bash(const std::string& id, const std::string& more = "") {
    return say(id, R"("role":"bashExecution","command":"run )" + id + R"(","output":"out of )" + id +
                       R"(","exitCode":0,"cancelled":false,"truncated":false)" + more + R"(,"timestamp":1)");
  }
  [[nodiscard]] OneSession of(const std::string& agent) const {
    OneSession made(agent);
    made.write(agent == "pi" ? "sessions/--work--/2026-02-16T10-20-30-000Z_1f9d2a6b9c0d1234.jsonl"
                             : "sessions/-work/2026-02-16T10-20-30-000Z_1f9d2a6b9c0d1234.jsonl",
               bytes_);
    return made;
  }

 private:
  std::string bytes_;
  std::string last_;
};

TEST(ForkedContext, NeverHasCommandsThatAreExcluded) {
  for (const std::string agent : {"omp", "pi"}) {
    Entries log;
    log.user("e1").bash("shown").bash("secret", R"(,"excludeFromContext":true)").user("e4");
    log.say("python", R"("role":"pythonExecution","code":"print","output":"secret","excludeFromContext":true)");
    for (const Reach reach : {Reach::context, Reach::path}) {
      EXPECT_THAT(log.of(agent).texts(reach), ElementsAre("of e1", "Ran `run shown`\n```\nout of shown\n```", "of e4"))
          << agent;
    }
  }
}

TEST(ForkedContext, NeverHasWhatAContextEditReplacedOrRemoved) {
  Entries log;
  log.user("e1").user("wrong").user("removed");
  log.add("context_edit", "e4", R"("targetId":"wrong","replacement":{"content":"right"})");
  log.add("context_edit", "e5", R"("targetId":"removed","replacement":null)");
  EXPECT_THAT(log.of("pi").texts(), ElementsAre("of e1", "right"));
  EXPECT_THAT(log.of("pi").texts(Reach::path), ElementsAre("of e1", "right"));
}

TEST(ForkedContext, OfOmpBeginsAtItsCompaction) {
  for (const std::string agent : {"omp", "pi"}) {
    Entries log;
    log.user("old").user("kept");
    log.add("compaction", "cut", R"("summary":"In short","firstKeptEntryId":"kept","tokensBefore":9)").user("new");
    EXPECT_THAT(log.of(agent).texts(), ElementsAre("[compaction]\nIn short", "of kept", "of new")) << agent;
    EXPECT_THAT(log.of(agent).texts(Reach::path), ElementsAre("of old", "of kept", "[compaction]\nIn short", "of new"))
        << agent;
  }
}

TEST(ForkedContext, CountsTheEntriesThatItLeavesOut) {
  Entries log;
  log.user("old").user("kept").bash("hidden", R"(,"excludeFromContext":true)");
  log.add("compaction", "cut", R"("summary":"In short","firstKeptEntryId":"kept","tokensBefore":9)").user("new");
  const auto read = log.of("pi").conversation();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->left_out, 2U) << "the old text and the excluded command";
  EXPECT_EQ(read->as_text.notes, 1U);
}

/// A store of OpenCode's files with one session.
class OpenCodeFiles {
 public:
  OpenCodeFiles() {
    made_.write("storage/project/p.json", R"({"id":"p","worktree":"/work","time":{"created":1,"updated":1}})");
    made_.write("storage/session/p/ses_1.json",
                R"({"id":"ses_1","projectID":"p","directory":"/work","title":"T","time":{"created":1,"updated":2}})");
  }
  OpenCodeFiles& message(const std::string& id, const std::string& members, const std::vector<std::string>& parts) {
    made_.write("storage/message/ses_1/msg_" + id + ".json", R"({"id":"msg_)" + id + R"(","sessionID":"ses_1",)" +
                                                                 members + R"(,"time":{"created":1,"completed":2}})");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string part = "prt_" + id + std::to_string(i);
      made_.write("storage/part/msg_" + id + "/" + part + ".json",
                  R"({"id":")" + part + R"(","messageID":"msg_)" + id + R"(","sessionID":"ses_1",)" + parts[i] + "}");
    }
    return *this;
  }
  OpenCodeFiles& user(const std::string& id, const std::vector<std::string>& parts) {
    return message(id, R"("role":"user")", parts);
  }
  OpenCodeFiles& answer(const std::string& id, const std::vector<std::string>& parts, const std::string& more = "") {
    return message(id, R"("role":"assistant","providerID":"p","modelID":"m","finish":"stop")" + more, parts);
  }
  static std::string text(const std::string& words, const std::string& more = "") {
    return R"("type":"text","text":")" + words + "\"" + more;
  }
  [[nodiscard]] OneSession& of() { return made_; }

 private:
  OneSession made_{"opencode"};
};

TEST(ForkedContext, OfOpenCodeHasNoOutputsThatWereCleared) {
  OpenCodeFiles files;
  files.user("1", {OpenCodeFiles::text("Go"), OpenCodeFiles::text("not for the model", R"(,"ignored":true)")});
  files.answer("2", {R"("type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{},)"
                     R"("output":"long output","title":"","metadata":{},"time":{"start":1,"end":2,"compacted":3}})"});
  EXPECT_THAT(files.of().texts(), ElementsAre("Go", "{}", "[Old tool result content cleared]"));
  EXPECT_THAT(files.of().texts(Reach::path), ElementsAre("Go", "{}", "long output"));
}

TEST(ForkedContext, OfOpenCodeBeginsAtItsCompaction) {
  OpenCodeFiles files;
  files.user("1", {OpenCodeFiles::text("old")}).answer("2", {OpenCodeFiles::text("old answer")});
  files.user("3", {R"("type":"compaction","auto":true)"});
  files.answer("4", {OpenCodeFiles::text("In short")}, R"(,"summary":true,"parentID":"msg_3")");
  files.user("5", {OpenCodeFiles::text("new")});
  EXPECT_THAT(files.of().texts(), ElementsAre("What did we do so far?", "In short", "new"));
  EXPECT_THAT(files.of().texts(Reach::path), ElementsAre("old", "old answer", "In short", "new"));
}

std::string codex_record(const std::string& type, const std::string& payload) {
  return R"({"timestamp":"2026-02-16T10:20:30.000Z","type":")" + type + R"(","payload":)" + payload + "}\n";
}
std::string codex_text(const std::string& role, const std::string& words) {
  return R"({"type":"message","role":")" + role + R"(","content":[{"type":")" +
         (role == "assistant" ? "output_text" : "input_text") + R"(","text":")" + words + R"("}]})";
}

TEST(ForkedContext, OfCodexHasTheHistoryThatReplacesWhatWasCompacted) {
  const std::string id = "019c4740-4400-7084-801f-7a603712c18d";
  OneSession thread("codex");
  thread.write(
      "sessions/2026/02/16/rollout-2026-02-16T10-20-30-" + id + ".jsonl",
      codex_record("session_meta", R"({"id":")" + id + R"(","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work"})") +
          codex_record("response_item", codex_text("developer", "be careful")) +
          codex_record("response_item", codex_text("user", "<environment_context>x</environment_context>")) +
          codex_record("response_item", codex_text("user", "old")) +
          codex_record("response_item", codex_text("assistant", "old answer")) +
          codex_record("compacted", R"({"message":"","replacement_history":[)" + codex_text("developer", "be careful") +
                                        "," + codex_text("user", "kept") + "," + codex_text("user", "In short") +
                                        "]}") +
          codex_record("response_item", codex_text("user", "new")));
  EXPECT_THAT(thread.texts(), ElementsAre("kept", "In short", "new"));
  EXPECT_THAT(thread.texts(Reach::path), ElementsAre("old", "old answer", "new"));
}

}  // namespace
}  // namespace arborfs
