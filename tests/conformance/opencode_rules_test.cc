// The rules by which OpenCode's messages become entries and a context (core/formats/opencode/FORMAT.md D, E), on
// databases with a few rows.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "core/formats/opencode/format.h"
#include "core/formats/opencode/session_archive.h"
#include "tests/support/opencode_session.h"

namespace arborfs::conformance {
namespace {

/// A database of the newest schema with one session, `s`, and a store of it.
class OpenCodeRules : public OpenCodeSamples {
 protected:
  OpenCodeRules() : folder_(copy("fresh-1.18.33")) {
    run("DELETE FROM session; DELETE FROM message; DELETE FROM part; DELETE FROM todo");
    run("INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)"
        " SELECT 's', id, 's', '/w', 'T', '1.18.33', 1, 1 FROM project LIMIT 1");
  }
  void run(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "opencode.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  /// `rest` are further members; messages come in the order of the calls.
  void add(const std::string& id, const std::string& role, const std::string& rest, const Words& parts) {
    const std::string time = std::to_string(++time_);
    const std::string data =
        R"({"role":")" + role + R"(","time":{"created":)" + time + "}" + (rest.empty() ? "" : "," + rest) + "}";
    run("INSERT INTO message VALUES ('" + id + "', 's', " + time + ", " + time + ", '" + data + "')");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      run("INSERT INTO part VALUES ('" + id + "-" + std::to_string(i) + "', '" + id + "', 's', " + time + ", " + time +
          ", '" + parts[i] + "')");
    }
  }
  void add_text(const std::string& id, const std::string& role = "user", const std::string& rest = "") {
    add(id, role, rest, {R"({"type":"text","text":"of )" + id + "\"}"});
  }
  [[nodiscard]] OpenCodeSession read() const {
    const auto store = opencode::make_store(folder_.string(), false, Disk::real());
    stores_.push_back(store);
    return {*store, {"opencode.db", "s.json"}};
  }
  [[nodiscard]] Words context() const {
    const OpenCodeSession session = read();
    return session.context_ids(session.index().leaf());
  }

  const fs::path folder_;

 private:
  mutable std::vector<std::shared_ptr<Store>> stores_;
  int time_ = 0;
};

TEST(OpenCodeEntryText, OnlySpacesBetweenTokensGo) {
  EXPECT_EQ(opencode::without_spaces(" { \"a b\" :\t\"c \\\" d\" , \"e\" :\"\\\\\" ,\r\n\"f\" : [ 1 , \"\" ] } "),
            R"({"a b":"c \" d","e":"\\","f":[1,""]})");
  EXPECT_EQ(opencode::without_spaces(" 12 "), "12");
}

TEST_F(OpenCodeRules, MessagesSortByTimeNotById) {
  add_text("z");
  add_text("a");
  EXPECT_EQ(context(), (Words{"z", "a"}));
}

TEST_F(OpenCodeRules, FinishedSummaryHidesWhatIsBeforeIt) {
  add_text("old");
  add("ask", "user", "", {R"({"type":"compaction","auto":true})"});
  add_text("sum", "assistant", R"("parentID":"ask","summary":true)");
  add_text("new");
  EXPECT_EQ(context(), (Words{"old", "ask", "sum", "new"}));
  run(R"(UPDATE message SET data = json_set(data, '$.finish', 'stop') WHERE id = 'sum')");
  EXPECT_EQ(context(), (Words{"ask", "sum", "new"}));
  EXPECT_EQ(read().index().type_text(2), "compaction");
  EXPECT_EQ(read().index().type_text(3), "compaction");
  run(R"(UPDATE message SET data = json_set(data, '$.error', json('{"name":"APIError"}')) WHERE id = 'sum')");
  EXPECT_EQ(context(), (Words{"old", "ask", "new"}));
}

TEST_F(OpenCodeRules, KeptTailFollowsTheSummary) {
  add_text("old");
  add_text("kept", "assistant");
  add_text("kept2");
  add("ask", "user", "", {R"({"type":"compaction","tail_start_id":"kept"})"});
  add_text("sum", "assistant", R"("parentID":"ask","summary":true,"finish":"stop")");
  add_text("new");
  EXPECT_EQ(context(), (Words{"ask", "sum", "kept", "kept2", "new"}));
}

TEST_F(OpenCodeRules, FailedAnswersAreNotSent) {
  add_text("failed", "assistant", R"("error":{"name":"APIError"})");
  add_text("aborted", "assistant", R"("error":{"name":"MessageAbortedError"})");
  add("silent", "assistant", R"("error":{"name":"MessageAbortedError"})", {R"({"type":"reasoning","text":"Hm."})"});
  add("empty", "user", "", {});
  EXPECT_EQ(context(), Words{"aborted"});
}

TEST_F(OpenCodeRules, PartsAreSentAsTheProgramSendsThem) {
  add("u", "user", "",
      {R"({"type":"text","text":"hidden","ignored":true})", R"({"type":"file","mime":"text/plain","url":"file:a"})",
       R"({"type":"file","mime":"image/png","url":"data:image/png;base64,aGk="})",
       R"({"type":"subtask","prompt":"p"})"});
  add("a", "assistant", "",
      {R"({"type":"step-start"})",
       R"({"type":"tool","tool":"x","state":{"status":"completed","output":"long","time":{"compacted":1}}})",
       R"({"type":"tool","tool":"y","state":{"status":"running","input":{}}})", R"({"type":"step-finish","cost":1})"});
  const OpenCodeSession session = read();
  const std::string sent = session.context(2);
  for (const char* there : {"image/png", "executed by the user", "[Old tool result content cleared]",
                            "[Tool execution was interrupted]", "step-start"}) {
    EXPECT_NE(sent.find(there), std::string::npos) << there;
  }
  for (const char* absent : {"hidden", "text/plain", "long", "running", "step-finish"}) {
    EXPECT_EQ(sent.find(absent), std::string::npos) << absent;
  }
  EXPECT_EQ(session.text(1), "hidden\n\n[file: file:a]\n\n[image 1: image/png]\n\n[task for ] p\n");
}

TEST_F(OpenCodeRules, RevertOfAPartKeepsThePartsBeforeIt) {
  add_text("u");
  add("a", "assistant", "", {R"({"type":"text","text":"first"})", R"({"type":"text","text":"second"})"});
  add_text("later");
  run(R"(UPDATE session SET revert = '{"messageID":"a","partID":"a-1"}')");
  const OpenCodeSession session = read();
  EXPECT_EQ(session.index().leaf(), 2U);
  const std::string sent = session.context(2);
  EXPECT_NE(sent.find("first"), std::string::npos);
  EXPECT_EQ(sent.find("second"), std::string::npos);
  EXPECT_NE(session.context(3).find("second"), std::string::npos) << "the tail that was undone is whole";
}

TEST_F(OpenCodeRules, RevertOfAMissingMessageUndoesNothing) {
  add_text("u");
  run(R"(UPDATE session SET revert = '{"messageID":"gone"}')");
  EXPECT_EQ(context(), Words{"u"});
}

TEST_F(OpenCodeRules, BadRowsAreDamage) {
  add_text("a");
  add("b", "user", "", {"torn {", R"({"type":"text","text":"whole"})"});
  run("UPDATE message SET data = '[1]' WHERE id = 'a'");
  const OpenCodeSession session = read();
  ASSERT_EQ(session.index().size(), 1U);
  EXPECT_EQ(session.index().id(1).text, "b");
  EXPECT_EQ(session.text(1), "whole\n");
  Words damage;
  for (const Damage& run : session.index().damage()) {
    damage.push_back(*session.log().read(run.offset, run.length));
  }
  EXPECT_EQ(damage, Words{"torn {"});
  EXPECT_EQ(session.index().not_shown().by_type(), (RecordCounts::ByType{{"part text", 1}, {"value", 1}}));
}

TEST_F(OpenCodeRules, ChangeMakesOpenLogsStaleAndTheStatAnother) {
  add_text("a");
  const OpenCodeSession before = read();
  EXPECT_EQ(*before.log().stat(), before.log().opened());
  run(R"(UPDATE message SET time_updated = 99, data = json_set(data, '$.agent', 'b') WHERE id = 'a')");
  EXPECT_FALSE(*before.log().stat() == before.log().opened());
  const OpenCodeSession after = read();
  EXPECT_NE(after.raw(1).find(R"("agent":"b")"), std::string::npos);
}

TEST_F(OpenCodeRules, ColumnsOfASessionAreTheMembersOfItsExport) {
  run("UPDATE session SET cost = 0.25, tokens_input = 7, tokens_cache_read = 3, time_archived = 9, share_url = "
      "'https://s'");
  run("INSERT INTO session_share (session_id, id, secret, url, time_created, time_updated)"
      " VALUES ('s', 'i', 'hidden', 'https://s', 1, 1)");
  run("INSERT INTO todo (session_id, content, status, priority, position, time_created, time_updated)"
      " VALUES ('s', 'b', 'pending', 'low', 1, 1, 1), ('s', 'a', 'completed', 'high', 0, 1, 1)");
  const std::string own = read().index().header().json;
  for (const char* there :
       {R"("cost":0.25)", R"("input":7)", R"("cache":{"read":3,"write":0})", R"("archived":9)", R"("url":"https://s")",
        R"("todo":[{"content":"a","status":"completed","priority":"high"},{"content":"b")", R"("worktree":)"}) {
    EXPECT_NE(own.find(there), std::string::npos) << there << " is not in " << own;
  }
  EXPECT_EQ(own.find("hidden"), std::string::npos);
}

TEST_F(OpenCodeRules, UsageIsToldOnceAMessage) {
  const std::string tokens =
      R"("tokens":{"input":1000,"output":5,"reasoning":0,"cache":{"read":200,"write":0}},"cost":0.5)";
  add("a", "assistant", tokens, {R"({"type":"step-finish",)" + tokens + "}"});
  const OpenCodeSession session = read();
  const auto usage = opencode::format().renderer->measure(EntryType::message, session.raw(1)).usage;
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->usage.input, 1000);
  EXPECT_EQ(usage->usage.cache_read, 200);
  EXPECT_EQ(usage->usage.cost, 0.5);
}

}  // namespace
}  // namespace arborfs::conformance
