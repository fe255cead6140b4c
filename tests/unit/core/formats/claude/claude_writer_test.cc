// Changes to sessions of Claude Code (claude/FORMAT.md I): the rows that are written, and the context that the program
// was seen to send after each kind of write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/processes.h"
#include "tests/support/claude_acts.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::ClaudeStage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kClaudeId;
using testing::kClaudeText;
using ::testing::Not;
using ::testing::StartsWith;
using Texts = std::vector<std::string>;

class ClaudeWriter : public ::testing::Test {
 protected:
  ClaudeWriter() : stage_(Disk::real(), settings()) { start(ClaudeStage::rows()); }
  static WriteSettings settings() {
    WriteSettings settings;
    settings.allow_delete = true;
    return settings;
  }
  void start(const std::string& log) {
    stage_.put_log(log);
    stage_.start();
    before_ = log;
  }
  Result<AppendResult> append(const std::string& text, const std::string& at = "") {
    return stage_.writer().append_text(stage_.session(), {text, text.starts_with('{'), at});
  }
  Result<MovedLeaf> branch(const std::string& target, bool force = false) {
    return stage_.writer().branch(stage_.session(), target, "", force);
  }
  /// The rows after those that were there, which have not changed.
  Texts added() {
    const std::string bytes = stage_.bytes();
    EXPECT_THAT(bytes, StartsWith(before_));
    Texts rows;
    std::string_view rest = std::string_view(bytes).substr(before_.size());
    while (!rest.empty()) {
      rows.emplace_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(rows.back().size() + 1);
    }
    return rows;
  }
  static Texts keys_of(const std::string& row) {
    Texts keys;
    for (skim::Cursor members(row); members.next();) {
      keys.emplace_back(members.key());
    }
    return keys;
  }
  std::string messages() {
    json::Document document;
    EXPECT_TRUE(json::parse(stage_.context(), document));
    const json::Value* list = json::member(document, "messages");
    return list == nullptr ? "" : json::stringify(*list);
  }
  static std::string said(const std::string& role, const std::string& content) {
    return R"({"role":")" + role + R"(","content":)" + content + "}";
  }
  static std::string texts(const Texts& all) {
    std::string blocks;
    for (const std::string& text : all) {
      blocks += (blocks.empty() ? "" : ",") + ClaudeStage::text_block(text);
    }
    return "[" + blocks + "]";
  }

  ClaudeStage stage_;
  std::string before_;
};

const std::string kOne = R"({"role":"user","content":"one"})";
const std::string kTwo = R"({"role":"assistant","content":[{"type":"text","text":"two"}]})";

TEST_F(ClaudeWriter, AMessageIsARowUnderTheLeafAndAPin) {
  const auto written = append("Please\n  look.\n");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "a1");
  const Texts rows = added();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(keys_of(rows[0]), ElementsAre("parentUuid", "isSidechain", "type", "message", "uuid", "timestamp",
                                            "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch"));
  EXPECT_THAT(rows[0], StartsWith(R"({"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"user",)"
                                  R"("content":"Please\n  look."},"uuid":")" +
                                  written->id + R"(","timestamp":"20)"));
  EXPECT_THAT(rows[0], HasSubstr(R"("userType":"external","entrypoint":"cli","cwd":"/work","sessionId":")" +
                                 std::string(kClaudeId) + R"(","version":"2.1.332","gitBranch":"main"})"));
  EXPECT_EQ(rows[1], R"({"type":"last-prompt","leafUuid":")" + written->id +
                         R"(","lastPrompt":"Please   look.","sessionId":")" + kClaudeId + "\"}");
  EXPECT_EQ(messages(), "[" + kOne + "," + kTwo + "," + said("user", R"("Please\n  look.")") + "]");
  EXPECT_EQ(stage_.leaf(), written->id);
}

TEST_F(ClaudeWriter, TwoMessagesAreSentAsOne) {
  ASSERT_TRUE(append("first"));
  ASSERT_TRUE(append("second"));
  EXPECT_EQ(messages(), "[" + kOne + "," + kTwo + "," + said("user", texts({"first", "second"})) + "]");
}

TEST_F(ClaudeWriter, ARowFollowsALastLineWithoutALineFeed) {
  before_.pop_back();
  start(before_);
  const auto written = append("more");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(added().at(0), "");
  EXPECT_EQ(written->parent_id, "a1") << "the last row is whole";
  EXPECT_THAT(messages(), HasSubstr(R"("content":"more")"));
}

TEST_F(ClaudeWriter, ATurnIsWrittenAtOnce) {
  const auto written = append(
      R"({"role":"user","content":[{"type":"text","text":"List"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}]})"
      "\n"
      R"({"role":"assistant","model":"m-1","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"c1","name":"exec_command","input":{"cmd":"ls"}}]})"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a b"}]})"
      R"({"role":"assistant","content":"Two files."})");
  ASSERT_TRUE(written) << written.error().message;
  const Texts rows = added();
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(written->parent_id, "a1");
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(skim::text_member(rows[i], "parentUuid"), skim::text_member(rows[i - 1], "uuid"));
  }
  const std::string_view reply = skim::member(rows[1], "message");
  EXPECT_THAT(keys_of(std::string(reply)),
              ElementsAre("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"));
  EXPECT_EQ(skim::text_member(reply, "stop_reason"), "tool_use");
  EXPECT_EQ(skim::text_member(reply, "model"), "m-1");
  EXPECT_THAT(rows[4], HasSubstr(R"("lastPrompt":"List")"));
  EXPECT_EQ(messages(), "[" + kOne + "," + kTwo + "," +
                            said("user", R"([{"type":"text","text":"List"},{"type":"image","source":{"type":"base64",)"
                                         R"("media_type":"image/png","data":"iVBO"}}])") +
                            "," +
                            said("assistant", R"([{"type":"text","text":"I look."},{"type":"tool_use","id":"c1",)"
                                              R"("name":"exec_command","input":{"cmd":"ls"}}])") +
                            "," + said("user", R"([{"type":"tool_result","tool_use_id":"c1","content":"a b"}])") + "," +
                            said("assistant", texts({"Two files."})) + "]");
}

TEST_F(ClaudeWriter, ANoteStandsBeforeTheNextPrompt) {
  const auto note = append(R"({"note":"The build is \"green\"."})");
  ASSERT_TRUE(note) << note.error().message;
  const Texts rows = added();
  EXPECT_THAT(keys_of(rows.at(0)),
              ElementsAre("parentUuid", "isSidechain", "type", "attachment", "rendered", "renderedRole", "uuid",
                          "timestamp", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch"));
  EXPECT_THAT(rows[0], Not(HasSubstr("lastPrompt")));
  ASSERT_TRUE(append("and now"));
  EXPECT_EQ(messages(),
            "[" + kOne + "," + kTwo + "," +
                said("user", texts({R"(<system-reminder>The build is \"green\".</system-reminder>)", "and now"})) +
                "]");
}

TEST_F(ClaudeWriter, RowsUnderAnOlderRowAreTheBranchThatGoesOn) {
  const auto other = append("instead", "u1");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->parent_id, "u1");
  EXPECT_EQ(messages(), "[" + said("user", texts({"one", "instead"})) + "]");
  ASSERT_TRUE(append("new start", "root"));
  EXPECT_EQ(messages(), "[" + said("user", R"("new start")") + "]");
  ASSERT_TRUE(branch("a1"));
  EXPECT_EQ(messages(), "[" + kOne + "," + kTwo + "]");
}

TEST_F(ClaudeWriter, TheLeafMovesWithoutAMessage) {
  const auto moved = branch("u1");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->leaf, "u1");
  EXPECT_EQ(moved->agent_leaf, "");
  EXPECT_THAT(added(), ElementsAre(R"({"type":"last-prompt","leafUuid":"u1","explicit":true,"sessionId":")" +
                                   std::string(kClaudeId) + "\"}"));
  EXPECT_EQ(messages(), "[" + kOne + "]");
  const auto root = branch("root");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(root->leaf, "root");
  EXPECT_EQ(messages(), "[]");
  ASSERT_TRUE(branch("a1"));
  EXPECT_EQ(messages(), "[" + kOne + "," + kTwo + "]");
  const std::string bytes = stage_.bytes();
  ASSERT_TRUE(branch("a1"));
  EXPECT_EQ(stage_.bytes(), bytes) << "it is there already";
}

TEST_F(ClaudeWriter, AMessageGoesOnWhereTheLeafWasMoved) {
  ASSERT_TRUE(branch("u1"));
  const auto written = append("instead");
  ASSERT_TRUE(written);
  EXPECT_EQ(written->parent_id, "u1");
  EXPECT_EQ(messages(), "[" + said("user", texts({"one", "instead"})) + "]");
}

TEST_F(ClaudeWriter, AnArchivedSessionHasAMarkBesideItsTranscript) {
  const auto is_archived = [&] {
    return is_marked(stage_.session()->store(), stage_.session()->place(), Mark::archived);
  };
  const std::string mark = "projects/-work/" + std::string(testing::kClaudeId) + "/archived.json";
  EXPECT_FALSE(is_archived());
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::archived, false)) << "it is not";
  EXPECT_FALSE(ClaudeStage::files_in(stage_.config()).contains(mark));
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::archived, true));
  EXPECT_THAT(ClaudeStage::read(stage_.config() + "/" + mark),
              ::testing::MatchesRegex(R"(\{"archived":true,"at":"20[-0-9T:.]+Z","by":"arborfs"\})"));
  EXPECT_TRUE(is_archived());
  EXPECT_EQ(added(), Texts()) << "the transcript stays";
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::archived, false));
  EXPECT_FALSE(is_archived());
  stage_.put(mark, R"({"archived":true})");
  EXPECT_FALSE(is_archived()) << "without a time it does not count";
  const auto pinned = stage_.writer().set_mark(stage_.session(), Mark::pinned, true);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().code, Errc::not_permitted);
  EXPECT_EQ(pinned.error().message, "sessions of claude do not take 'pinned'");
}

TEST_F(ClaudeWriter, IfLeafFailsUnlessTheEntryIsTheLeaf) {
  const auto refused = append(R"({"role":"user","content":"x","ifLeaf":"u1"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::stale);
  EXPECT_TRUE(append(R"({"role":"user","content":"x","ifLeaf":"a1"})"));
}

TEST_F(ClaudeWriter, WhatModelsRefuseIsNotWritten) {
  const auto why_not = [&](const std::string& text) {
    const auto written = append(text);
    EXPECT_FALSE(written) << text;
    EXPECT_EQ(written ? Errc::io : written.error().code, Errc::invalid_argument) << text;
    return written ? "" : written.error().message;
  };
  EXPECT_THAT(why_not(" \n"), HasSubstr("blank"));
  EXPECT_THAT(why_not(R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]})"),
              HasSubstr("thinking must be signed"));
  EXPECT_THAT(why_not(R"({"role":"tool","content":"x"})"), HasSubstr("object 1: role must be"));
  EXPECT_THAT(why_not(R"({"role":"user","content":"x"}{"role":"user"})"), HasSubstr("object 2: content is missing"));
  EXPECT_THAT(why_not(R"({"role":"user","content":"x","uuid":"u"})"), HasSubstr("that arborfs sets"));
  EXPECT_THAT(why_not(R"({"role":"user","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]})"),
              HasSubstr("a block of a user is"));
  EXPECT_THAT(why_not(R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]})"),
              HasSubstr("has no call before it"));
  EXPECT_THAT(why_not(R"({"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]})"
                      R"({"role":"user","content":"and?"})"),
              HasSubstr("has no result yet"));
  EXPECT_EQ(stage_.bytes(), before_);
}

/// A reply of two calls, whose results hang under their calls.
std::string parallel_calls() {
  const auto call = [](const std::string& id) {
    return R"({"type":"tool_use","id":")" + id + R"(","name":"Read","input":{}})";
  };
  const auto result = [](const std::string& id) {
    return R"({"role":"user","content":[{"type":"tool_result","tool_use_id":")" + id + R"(","content":"of )" + id +
           "\"}]}";
  };
  return ClaudeStage::prompt("u1", "", "one") + ClaudeStage::answer("t1", "u1", "m1", ClaudeStage::text_block("hm")) +
         ClaudeStage::answer("c1", "t1", "m1", call("k1")) + ClaudeStage::answer("c2", "c1", "m1", call("k2")) +
         ClaudeStage::row("user", "r1", "c1", result("k1")) + ClaudeStage::row("user", "r2", "c2", result("k2")) +
         ClaudeStage::answer("a2", "r2", "m2", ClaudeStage::text_block("done")) + ClaudeStage::pin("a2");
}

TEST_F(ClaudeWriter, ABranchKeepsCallsAndResultsTogether) {
  start(parallel_calls());
  for (const char* const inside : {"t1", "c1", "c2", "r1"}) {
    const auto moved = branch(inside);
    EXPECT_FALSE(moved) << inside;
  }
  const auto within = branch("t1", true);
  ASSERT_FALSE(within);
  EXPECT_THAT(within.error().message, HasSubstr("within a reply"));
  EXPECT_FALSE(append("x", "t1"));
  EXPECT_EQ(stage_.bytes(), before_);
  EXPECT_TRUE(branch("r2"));
  EXPECT_THAT(messages(), HasSubstr("of k1"));
  EXPECT_THAT(messages(), Not(HasSubstr("done")));
  EXPECT_TRUE(branch("u1"));
}

TEST_F(ClaudeWriter, ResultsAnswerTheCallsOfTheLog) {
  start(ClaudeStage::prompt("u1", "", "one") +
        ClaudeStage::answer("c1", "u1", "m1", R"({"type":"tool_use","id":"k1","name":"Read","input":{}})"));
  const auto early = append("and?");
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message, HasSubstr("has no result yet"));
  const auto branched = branch("c1");
  ASSERT_FALSE(branched);
  EXPECT_THAT(branched.error().message, HasSubstr("without its result"));
  EXPECT_TRUE(branch("c1", true)) << "it is the leaf already";
  const auto answered =
      append(R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"k1","content":"x"}]})");
  EXPECT_TRUE(answered) << answered.error().message;
  EXPECT_TRUE(append("and?"));
}

TEST_F(ClaudeWriter, EntriesThatTheProgramDoesNotReadAreRefused) {
  const std::string rootless = R"({"type":"user","message":{"role":"user","content":"no uuid"}})"
                               "\n";
  start(ClaudeStage::prompt("u1", "", "one") +
        R"({"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":null,"logicalParentUuid":"u1",)"
        R"("isSidechain":false})"
        "\n" +
        ClaudeStage::prompt("u2", "b1", "summary") + rootless);
  const auto old = branch("u1");
  ASSERT_FALSE(old);
  EXPECT_THAT(old.error().message, HasSubstr("it was compacted since"));
  const auto loose = branch("#4");
  ASSERT_FALSE(loose);
  EXPECT_THAT(loose.error().message, HasSubstr("its row has no uuid"));
  const auto written = append("more");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "u2");
}

TEST_F(ClaudeWriter, ATitleIsARowOfItsOwn) {
  const auto title = stage_.writer().set_title(stage_.session(), "Tail\tdrag ");
  ASSERT_TRUE(title) << title.error().message;
  EXPECT_EQ(*title, "Tail drag");
  EXPECT_THAT(added(), ElementsAre(R"({"type":"custom-title","customTitle":"Tail drag","sessionId":")" +
                                   std::string(kClaudeId) + "\"}"));
  EXPECT_EQ(stage_.session()->head().header.title, "Tail drag");
  const std::string bytes = stage_.bytes();
  EXPECT_EQ(*stage_.writer().set_title(stage_.session(), "made", false, "auto"), "Tail drag");
  EXPECT_EQ(*stage_.writer().set_title(stage_.session(), "Tail drag"), "Tail drag");
  EXPECT_EQ(stage_.bytes(), bytes);
}

TEST_F(ClaudeWriter, AnEmptyTitleClearsIt) {
  const std::string file = std::string("projects/-work/") + kClaudeId + "/custom-title.json";
  stage_.put(file, R"({"customTitle":"Beside","by":"user"})");
  stage_.start();
  EXPECT_EQ(stage_.session()->head().header.title, "Beside");
  const auto cleared = stage_.writer().set_title(stage_.session(), " \n");
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_EQ(*cleared, "");
  EXPECT_THAT(added(), ElementsAre(HasSubstr(R"("customTitle":"",)")));
  EXPECT_FALSE(fs::exists(stage_.config() + "/" + file));
  EXPECT_EQ(stage_.session()->head().header.title, "");
  ASSERT_TRUE(append(std::string(100'000, 'x')));
  stage_.put(file, R"({"customTitle":"Beside"})");
  stage_.start();
  EXPECT_EQ(stage_.session()->head().header.title, "Beside") << "far from the end of the transcript";
}

TEST_F(ClaudeWriter, ASummaryOfABranchHasNoPlace) {
  const auto moved = stage_.writer().branch(stage_.session(), "u1", "what was left");
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Errc::not_permitted);
  EXPECT_EQ(stage_.bytes(), before_);
}

/// What Claude Code writes of the session that this process has open.
void note_as_open(const ClaudeStage& stage, const std::string& session) {
  const auto proc = Dir::open_root("/proc");
  ASSERT_TRUE(proc);
  const auto ticks = proc::start_ticks(proc::open_process(proc->fd(), ::getpid()).get());
  ASSERT_TRUE(ticks);
  stage.put("sessions/" + std::to_string(::getpid()) + ".json",
            R"({"pid":)" + std::to_string(::getpid()) + R"(,"sessionId":")" + session + R"(","procStart":")" +
                std::to_string(*ticks) + "\"}");
}

TEST_F(ClaudeWriter, ASessionThatAProgramHasOpenIsRefusedByItsName) {
  note_as_open(stage_, kClaudeId);
  const std::string named = "claude (process " + std::to_string(::getpid()) + ") has it open";
  const auto written = append("x");
  const auto moved = branch("u1");
  const auto titled = stage_.writer().set_title(stage_.session(), "x");
  const auto removed = stage_.writer().remove(stage_.session());
  for (const Error& error : {written.error(), moved.error(), titled.error(), removed.error()}) {
    EXPECT_EQ(error.code, Errc::busy);
    EXPECT_THAT(error.message, HasSubstr(named));
  }
  EXPECT_EQ(stage_.bytes(), before_);
  EXPECT_TRUE(append(R"({"role":"user","content":"x","force":true})"));
  note_as_open(stage_, "22222222-2222-4222-8222-222222222222");
  EXPECT_TRUE(append("y"));
}

TEST_F(ClaudeWriter, TheTagOfASessionThatAProgramHasOpenStays) {
  const std::string tagged = before_ + R"({"type":"tag","tag":"blue","sessionId":")" + kClaudeId + "\"}\n";
  std::ofstream(stage_.config() + "/" + ClaudeStage::log()) << tagged;
  note_as_open(stage_, kClaudeId);
  const auto both = stage_.writer().change_tags(stage_.session(), {{"aqua"}, {}});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_THAT(*both, ElementsAre("aqua", "blue"));
  const auto gone = stage_.writer().change_tags(stage_.session(), {{}, {"blue"}});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::busy);
  EXPECT_THAT(stage_.session()->noted()->tags, ElementsAre("aqua")) << "nothing was changed";
  EXPECT_EQ(stage_.bytes(), tagged);
}

TEST_F(ClaudeWriter, ASessionThatAProgramHasOpenGetsItsFirstTagInNotes) {
  note_as_open(stage_, kClaudeId);
  const auto tags = stage_.writer().change_tags(stage_.session(), {{"blue"}, {}});
  ASSERT_TRUE(tags) << tags.error().message;
  EXPECT_THAT(*tags, ElementsAre("blue"));
  EXPECT_EQ(stage_.bytes(), before_);
}

TEST_F(ClaudeWriter, SubAgentsAreNotWritten) {
  const std::string folder = "-work/" + std::string(kClaudeId) + "/subagents";
  stage_.put("projects/" + folder + "/agent-77.jsonl", ClaudeStage::prompt("x1", "", "job"));
  stage_.start();
  const auto agent = stage_.catalog().at({folder, "agent-77.jsonl"});
  ASSERT_TRUE(agent);
  const auto written = stage_.writer().append_text(agent, {"x", false, ""});
  const auto removed = stage_.writer().remove(agent);
  for (const Error& error : {written.error(), removed.error()}) {
    EXPECT_EQ(error.code, Errc::read_only);
    EXPECT_THAT(error.message, HasSubstr("Claude Code resumes only the session that started it"));
  }
  const std::string before = ClaudeStage::read(stage_.config() + "/projects/" + folder + "/agent-77.jsonl");
  const auto tags = stage_.writer().change_tags(agent, {{"blue"}, {}});
  ASSERT_TRUE(tags) << tags.error().message;
  EXPECT_THAT(*tags, ElementsAre("blue"));
  EXPECT_EQ(ClaudeStage::read(stage_.config() + "/projects/" + folder + "/agent-77.jsonl"), before) << "only noted";
}

TEST_F(ClaudeWriter, ManyWritersAndTheProgramLoseNothing) {
  constexpr int kWriters = 4;
  constexpr int kEach = 20;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < kEach; ++i) {
        const std::string text = "w" + std::to_string(writer) + "-" + std::to_string(i) + ".";
        Result<AppendResult> written = append(text);
        while (!written && (written.error().code == Errc::busy || written.error().code == Errc::stale)) {
          written = append(text);  // the other program has it open for one write
        }
        EXPECT_TRUE(written) << written.error().message;
      }
    });
  }
  for (int i = 0; i < kEach; ++i) {
    std::ofstream(stage_.config() + "/" + ClaudeStage::log(), std::ios::app)
        << ClaudeStage::prompt("f" + std::to_string(i), "a1", "foreign");
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::string bytes = stage_.bytes();
  EXPECT_THAT(bytes, StartsWith(before_));
  for (int i = 0; i < kEach; ++i) {
    EXPECT_THAT(bytes, HasSubstr("\"f" + std::to_string(i) + "\""));
    for (int writer = 0; writer < kWriters; ++writer) {
      EXPECT_THAT(bytes, HasSubstr("\"w" + std::to_string(writer) + "-" + std::to_string(i) + ".\"}"));
    }
  }
}

/// Paths with modes, times and bytes.
std::vector<std::string> state_of(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat st {};
    EXPECT_EQ(::lstat(entry.path().c_str(), &st), 0);
    const bool is_project = entry.path().parent_path().filename() == "projects";
    const bool is_kind = entry.path().parent_path() == folder;
    const std::string time =
        is_project || is_kind ? "" : std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec);
    found.push_back(entry.path().string() + " " + std::to_string(st.st_mode) + " " + time + " " +
                    (entry.is_regular_file() ? ClaudeStage::read(entry.path().string()) : ""));
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST_F(ClaudeWriter, ARemovedSessionComesBackWithAllThatBelongsToIt) {
  const std::string id = kClaudeId;
  testing::with_belongings(stage_);
  Texts its = testing::claude_belongings();
  Texts others = testing::claude_files_of_others();
  for (const std::string& path :
       {"projects/-work/" + id + "/custom-title.json", "file-history/" + id + "/f@v1", "session-env/" + id + "/env",
        "tasks/" + id + "/1.json", "debug/" + id + ".txt", "image-cache/" + id + "/1.png"}) {
    stage_.put(path, "of " + path);
    its.push_back(path);
  }
  for (const std::string path :
       {"projects/-work/memory/notes.md", "file-history/other/f@v1", "debug/other.txt", "history.jsonl"}) {
    stage_.put(path, "of " + path);
    others.push_back(path);
  }
  for (const std::string& path : its) {
    fs::last_write_time(stage_.config() + "/" + path, fs::file_time_type(std::chrono::hours(24 * 365 * 30)));
  }
  stage_.start();
  const auto before = state_of(stage_.config());
  ASSERT_TRUE(stage_.writer().remove(stage_.session()));
  EXPECT_EQ(stage_.session(), nullptr);
  EXPECT_EQ(stage_.catalog().view()->by_id.size(), 1U) << "the agent of another session";
  const auto left = ClaudeStage::files_in(stage_.config());
  for (const std::string& path : its) {
    EXPECT_FALSE(left.contains(path)) << path;
  }
  for (const std::string& path : others) {
    EXPECT_TRUE(left.contains(path)) << path;
  }
  ASSERT_TRUE(testing::claude_acts::restore(stage_));
  EXPECT_EQ(state_of(stage_.config()), before);
  EXPECT_TRUE(stage_.trash().empty());
  EXPECT_TRUE(append("goes on"));
}

TEST_F(ClaudeWriter, ATranscriptThatIsThereAgainIsNotReplaced) {
  ASSERT_TRUE(stage_.writer().remove(stage_.session()));
  stage_.put_log(ClaudeStage::prompt("n1", "", "new"));
  stage_.catalog().rescan();
  const auto restored = testing::claude_acts::restore(stage_);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, Errc::already_exists);
  EXPECT_THAT(stage_.bytes(), HasSubstr("\"new\""));
  EXPECT_EQ(stage_.trash().size(), 1U);
}

}  // namespace
}  // namespace arborfs
