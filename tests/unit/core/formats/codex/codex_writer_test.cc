// Writes by arborfs to threads of Codex keep every other byte, and leave what Codex reads as Codex would have written
// it (codex/FORMAT.md H).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <regex>
#include <sstream>

#include "core/json/document.h"
#include "tests/support/child.h"
#include "tests/support/codex_acts.h"
#include "tests/support/codex_stage.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::CodexSegment;
using testing::CodexStage;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::kLegacy;
using testing::kPaginated;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// With X in the place of times, and ids of turns and events.
std::string without_ids(std::string text) {
  static const std::regex kIds(R"x("(id|turn_id)":"[0-9a-f]{8}-[0-9a-f-]{27}")x");
  static const std::regex kDates(R"x("\d{4}-\d\d-\d\dT[0-9:.]+Z")x");
  static const std::regex kTimes(R"x(:\d{10,13}\b)x");
  static const std::regex kDuration(R"x("duration_ms":\d+)x");
  text = std::regex_replace(text, kIds, "\"$1\":X");
  text = std::regex_replace(text, kDates, "X");
  text = std::regex_replace(text, kDuration, "\"duration_ms\":0");  // of the test itself
  return std::regex_replace(text, kTimes, ":X");
}

constexpr const char* kDocument = "0b1c2d3e4f5061728394a5b6c7d8e9f0";

/// The context that Codex sends, as it was before, and then these items.
std::string with_items(const std::string& before, const std::vector<std::string>& items) {
  std::string context = before.substr(0, before.rfind(']'));
  context.resize(context.find_last_not_of(" \n") + 1);
  for (const std::string& item : items) {
    context += "," + item;
  }
  return context;
}

/// Context without its layout.
std::string compact(std::string text) {
  text.resize(text.find_last_not_of("]} \n") + 1);
  std::erase_if(text, [](char c) { return c == '\n'; });
  return text;
}

WriteSettings allowing_delete() {
  WriteSettings settings;
  settings.allow_delete = true;
  return settings;
}

/// The bytes and times of all files of Codex's threads.
std::map<std::string, std::pair<std::string, std::int64_t>> files_of(const CodexStage& stage) {
  std::map<std::string, std::pair<std::string, std::int64_t>> found;
  for (const auto& entry : fs::recursive_directory_iterator(stage.home())) {
    struct stat st {};
    EXPECT_EQ(::stat(entry.path().c_str(), &st), 0);
    if (entry.is_regular_file() && entry.path().extension() != ".sqlite") {
      found[entry.path().string()] = {CodexStage::read(entry.path().string()),
                                      st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec};
    }
  }
  return found;
}

class CodexWriting : public ::testing::Test {
 protected:
  CodexWriting() : stage_(Disk::real(), allowing_delete()) { stage_.start(); }

  Result<AppendResult> append(const std::string& text, const std::string& thread = kPaginated) {
    return stage_.writer().append_text(stage_.session(thread), {text, text.starts_with('{'), ""});
  }
  void expect_appended(const std::string& before, const std::vector<std::string>& lines, const std::string& thread) {
    const std::string now = stage_.log(thread);
    ASSERT_THAT(now, StartsWith(before));
    EXPECT_THAT(lines_of(without_ids(now.substr(before.size()))), ::testing::ElementsAreArray(lines));
    EXPECT_TRUE(now.ends_with('\n'));
  }

  CodexStage stage_;
};

TEST_F(CodexWriting, TheTitleOfAPaginatedThreadIsInItsRowAndInTheFileOfNames) {
  const std::string row = stage_.row();
  const std::string other = stage_.row(kLegacy);
  const std::string log = stage_.log();
  const std::string names = stage_.names();
  const auto done = stage_.writer().set_title(stage_.session(), " A \"new\"\nname ");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*done, "A \"new\" name");
  EXPECT_EQ(stage_.title(), "A \"new\" name");
  EXPECT_EQ(stage_.row(), std::regex_replace(row, std::regex("First"), "A \"new\" name")) << "all else stays";
  EXPECT_EQ(stage_.row(kLegacy), other);
  EXPECT_EQ(stage_.log(), log);
  EXPECT_EQ(without_ids(stage_.names().substr(names.size())),
            R"({"id":X,"thread_name":"A \"new\" name","updated_at":X})"
            "\n");
  stage_.start();
  EXPECT_EQ(stage_.title(), "A \"new\" name");
}

TEST_F(CodexWriting, TheTitleOfALegacyThreadIsItsLastLineInTheFileOfNames) {
  for (const std::string name : {"Second", "Third"}) {
    ASSERT_TRUE(stage_.writer().set_title(stage_.session(kLegacy), name));
    EXPECT_EQ(stage_.title(kLegacy), name);
    EXPECT_EQ(stage_.query("SELECT name FROM threads WHERE id = '" + std::string(kLegacy) + "'"), name + "\n");
  }
  EXPECT_EQ(lines_of(stage_.names()).size(), 3U);
}

TEST_F(CodexWriting, ALegacyThreadNeedsNoDatabaseForItsTitle) {
  stage_.stop();
  fs::remove(stage_.database());
  fs::remove(stage_.home() + "/session_index.jsonl");
  stage_.start();
  ASSERT_TRUE(stage_.writer().set_title(stage_.session(kLegacy), "Second"));
  EXPECT_EQ(stage_.title(kLegacy), "Second");
  EXPECT_EQ(lines_of(stage_.names()).size(), 1U);
}

// Codex takes the name of a paginated thread from its row alone.
TEST_F(CodexWriting, ATitleThatCodexWouldNotShowIsRefused) {
  const std::string names = stage_.names();
  stage_.query("DELETE FROM threads WHERE id = '" + std::string(kPaginated) + "'");
  auto done = stage_.writer().set_title(stage_.session(), "Second");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::not_found);
  EXPECT_THAT(done.error().message, EndsWith("run once: codex resume " + std::string(kPaginated)));
  stage_.stop();
  fs::rename(stage_.database(), stage_.home() + "/state_6.sqlite");
  stage_.start();
  done = stage_.writer().set_title(stage_.session(), "Second");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::unsupported);
  EXPECT_THAT(done.error().message, HasSubstr("does not know the schema of Codex's database state_6.sqlite"));
  EXPECT_EQ(stage_.names(), names);
}

TEST_F(CodexWriting, ARowWithoutANameMeansNoNameForAPaginatedThread) {
  ASSERT_TRUE(stage_.writer().set_title(stage_.session(), "Second"));
  ASSERT_TRUE(stage_.writer().set_title(stage_.session(kLegacy), "Second"));
  stage_.query("UPDATE threads SET name = NULL");
  stage_.start();
  EXPECT_EQ(stage_.title(), "");
  EXPECT_EQ(stage_.title(kLegacy), "Second") << "an unset name does not clear the line";
}

TEST_F(CodexWriting, AnAutomaticTitleReplacesNoOther) {
  const std::string names = stage_.names();
  const auto done = stage_.writer().set_title(stage_.session(), "Second", false, "auto");
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, "First");
  EXPECT_EQ(stage_.names(), names);
}

TEST_F(CodexWriting, ATextIsATurnWithAUserMessage) {
  const std::string before = stage_.log();
  const std::string context = stage_.context();
  const auto written = append("Check \"the\" tests\n");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->id, std::string(kPaginated) + ":7");
  EXPECT_EQ(written->parent_id, std::string(kPaginated) + ":4");
  const std::string item =
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"Check \"the\" tests"}]})";
  expect_appended(
      before,
      {R"({"timestamp":X,"ordinal":6,"type":"event_msg","payload":{"type":"task_started","turn_id":X,"started_at":X,)"
       R"("model_context_window":null}})",
       R"({"timestamp":X,"ordinal":7,"type":"response_item","payload":)" + item + "}",
       R"({"timestamp":X,"ordinal":8,"type":"event_msg","payload":{"type":"item_completed","thread_id":")" +
           std::string(kPaginated) +
           R"(","turn_id":X,"item":{"type":"UserMessage","id":X,"content":[{"type":"text","text":"Check \"the\" tests"}]},)"
           R"("completed_at_ms":X}})"},
      kPaginated);
  EXPECT_EQ(compact(stage_.context()), compact(with_items(context, {item})));
  EXPECT_FALSE(fs::exists(stage_.home() + "/thread-writer-locks")) << "no lock file is made";
}

TEST_F(CodexWriting, MessagesCallsAndOutputsAreOneTurn) {
  const std::string before = stage_.log();
  const std::string context = stage_.context();
  const std::string id = kPaginated;
  const auto written = append(R"({"role":"user","content":"Run them"}
{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"c1"}
{"type":"function_call_output","call_id":"c1","output":"ok"}
{"role":"assistant","content":[{"type":"output_text","text":"They pass."}]})");
  ASSERT_TRUE(written) << written.error().message;
  const std::vector<std::string> items = {
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"Run them"}]})",
      R"({"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"c1"})",
      R"({"type":"function_call_output","call_id":"c1","output":"ok"})",
      R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"They pass."}]})"};
  const auto record = [](int ordinal, const std::string& type, const std::string& payload) {
    return R"({"timestamp":X,"ordinal":)" + std::to_string(ordinal) + R"(,"type":")" + type + R"(","payload":)" +
           payload + "}";
  };
  const auto completed = [&](const std::string& item) {
    return R"({"type":"item_completed","thread_id":")" + id + R"(","turn_id":X,"item":)" + item +
           R"(,"completed_at_ms":X})";
  };
  expect_appended(
      before,
      {record(6, "event_msg", R"({"type":"task_started","turn_id":X,"started_at":X,"model_context_window":null})"),
       record(7, "response_item", items[0]),
       record(8, "event_msg",
              completed(R"({"type":"UserMessage","id":X,"content":[{"type":"text","text":"Run them"}]})")),
       record(9, "response_item", items[1]), record(10, "response_item", items[2]),
       record(11, "event_msg",
              completed(R"({"type":"AgentMessage","id":X,"content":[{"type":"Text","text":"They pass."}]})")),
       record(12, "response_item", items[3]),
       record(13, "event_msg",
              R"({"type":"task_complete","turn_id":X,"last_agent_message":"They pass.","started_at":X,)"
              R"("completed_at":X,"duration_ms":0})")},
      kPaginated);
  EXPECT_EQ(compact(stage_.context()), compact(with_items(context, items)));
}

TEST_F(CodexWriting, ALegacyThreadGetsItemsAndEventsWithoutOrdinals) {
  const std::string before = stage_.log(kLegacy);
  const std::string context = stage_.context(kLegacy);
  const auto written =
      append(R"({"role":"user","content":"Run them"}{"role":"assistant","content":"They pass."})", kLegacy);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->id, std::string(kLegacy) + ":8") << "the line of the last item";
  EXPECT_EQ(written->parent_id, std::string(kLegacy) + ":4");
  const std::vector<std::string> items = {
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"Run them"}]})",
      R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"They pass."}]})"};
  expect_appended(before,
                  {R"({"timestamp":X,"type":"response_item","payload":)" + items[0] + "}",
                   R"({"timestamp":X,"type":"event_msg","payload":{"type":"user_message","message":"Run them"}})",
                   R"({"timestamp":X,"type":"event_msg","payload":{"type":"agent_message","message":"They pass."}})",
                   R"({"timestamp":X,"type":"response_item","payload":)" + items[1] + "}"},
                  kLegacy);
  EXPECT_EQ(compact(stage_.context(kLegacy)), compact(with_items(context, items)));
}

TEST_F(CodexWriting, WhatModelsOrCodexRefuseIsNotAppended) {
  const std::string before = stage_.log();
  for (const std::string text :
       {R"({"role":"assistant","content":"first"})", R"({"role":"user","content":""})",
        R"({"role":"system","content":"x"})",
        R"({"role":"user","content":"a"}{"type":"function_call","name":"n","arguments":"{}","call_id":"c"})",
        R"({"role":"user","content":"a"}{"type":"function_call","name":"n","arguments":"no","call_id":"c"})",
        R"({"role":"user","content":"a"}{"type":"function_call_output","output":"o","call_id":"c"})",
        R"({"role":"user","content":"a","id":"mine"})", R"({"role":"user","content":[{"type":"input_file"}]})"}) {
    const auto written = append(text);
    ASSERT_FALSE(written) << text;
    EXPECT_EQ(written.error().code, Errc::invalid_argument) << text;
    EXPECT_THAT(written.error().message, StartsWith("object ")) << text;
  }
  EXPECT_EQ(stage_.log(), before);
}

TEST_F(CodexWriting, AppendsThatNameAnotherLeafAreRefused) {
  const std::string before = stage_.log();
  auto written = stage_.writer().append_text(stage_.session(), {"x", false, "#1"});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::stale);
  written = append(R"({"role":"user","content":"x","ifLeaf":"019c4740-4400-7084-801f-aaaaaaaaaaa1:2"})");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::stale);
  EXPECT_EQ(stage_.log(), before);
  EXPECT_TRUE(append(R"({"role":"user","content":"x","ifLeaf":"019c4740-4400-7084-801f-aaaaaaaaaaa1:4"})"));
}

TEST_F(CodexWriting, ATornEndIsNotJoinedToTheNextRecord) {
  for (const char* thread : {kPaginated, kLegacy}) {
    stage_.stop();
    std::ofstream(stage_.path_of(thread), std::ios::app) << R"({"timestamp":"2026-02-10T10:00:02.000Z","ord)";
    stage_.start();
    const auto written = append("after it", thread);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_THAT(stage_.context(thread), HasSubstr("after it"));
    EXPECT_THAT(stage_.log(thread), HasSubstr("\"ord\n{\"timestamp\""));
  }
  EXPECT_THAT(stage_.log(), HasSubstr(R"("ordinal":6,"type":"event_msg","payload":{"type":"task_started")"));
}

TEST_F(CodexWriting, ALoadedThreadIsNeverAppendedTo) {
  for (const char* thread : {kPaginated, kLegacy}) {
    CodexStage::put(stage_.lock_of(thread), "");
    ASSERT_TRUE(append("while the lock is free", thread));
    EXPECT_TRUE(fs::exists(stage_.lock_of(thread)));
    const std::string before = stage_.log(thread);
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const testing::Child holder([&] {
      const int fd = ::open(stage_.lock_of(thread).c_str(), O_RDONLY);
      if (::flock(fd, LOCK_EX) == 0 && ::write(ready[1], "x", 1) == 1) {
        ::pause();
      }
    });
    char held = 0;
    ASSERT_EQ(::read(ready[0], &held, 1), 1);
    const std::string words = "codex (process " + std::to_string(holder.pid()) + ") has the thread loaded; end that";
    for (const std::string text : {"beside it", R"({"role":"user","content":"beside it","force":true})"}) {
      const auto written = append(text, thread);
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().code, Errc::busy);
      EXPECT_THAT(written.error().message, HasSubstr(words));
    }
    const auto removed = stage_.writer().remove(stage_.session(thread), true);
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().code, Errc::busy);
    EXPECT_EQ(stage_.log(thread), before);
    EXPECT_TRUE(stage_.writer().set_title(stage_.session(thread), "Named beside it"));
    ::close(ready[0]);
    ::close(ready[1]);
  }
}

/// The rows are as `codex queue` writes them (H8).
TEST_F(CodexWriting, AMessageWaitsInTheQueueAlsoOfAThreadThatIsLoaded) {
  stage_.make_queue();
  const auto logs = testing::codex_logs(stage_);
  CodexStage::put(stage_.lock_of(kPaginated), "");
  const UniqueFd holder(::open(stage_.lock_of(kPaginated).c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(holder.get(), LOCK_EX), 0);
  EXPECT_EQ(append("beside it").error().code, Errc::busy);
  const auto first = append(R"({"queue":"Check \"it\""})");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = append(R"({"queue":"And then?"})");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(stage_.queued("SELECT id, thread_id, queue_order, created_at_ms = updated_at_ms FROM queued_items"),
            first->id + "|" + kPaginated + "|0|1\n" + second->id + "|" + kPaginated + "|1|1\n");
  const std::string payload = stage_.queued("SELECT payload_json FROM queued_items WHERE queue_order = 0");
  EXPECT_THAT(payload,
              StartsWith(R"({"UserInput":{"content":[{"type":"text","text":"Check \"it\"","text_elements":[]}],)"
                         R"("client_id":")"));
  EXPECT_THAT(payload, EndsWith("\"}}\n"));
  EXPECT_EQ(stage_.queued("SELECT thread_id, revision > 1 FROM queued_thread_revisions"),
            std::string(kPaginated) + "|1\n");
  EXPECT_EQ(testing::codex_logs(stage_), logs);
  const auto undone = testing::undo_last(stage_.writer());
  EXPECT_EQ(undone.error().code, Errc::unsupported);
  EXPECT_THAT(undone.error().message, HasSubstr("Codex takes messages from its queue and runs them"));
  EXPECT_EQ(stage_.queued("SELECT count(*) FROM queued_items"), "2\n");
}

TEST_F(CodexWriting, TheQueueIsOfOneMessageAtATimeAndOfItsKnownSchemaAlone) {
  EXPECT_THAT(append(R"({"queue":"text"})").error().message, HasSubstr("start Codex 0.149 or later once"));
  stage_.make_queue();
  for (const char* wrong : {R"({"queue":""})", R"({"queue":7})", R"({"queue":"a","force":true})",
                            R"({"queue":"a"}{"queue":"b"})", R"({"queue":"a"}{"role":"user","content":"b"})"}) {
    EXPECT_EQ(append(wrong).error().code, Errc::invalid_argument) << wrong;
  }
  EXPECT_EQ(append("{\"queue\":\"\xFF\"}").error().code, Errc::not_utf8);
  ASSERT_TRUE(append(R"({"queue":"cut \ud83d"})"));
  EXPECT_THAT(stage_.queued("SELECT payload_json FROM queued_items"), HasSubstr("cut \xEF\xBF\xBD\""))
      << "half of a pair";
  stage_.queued("DELETE FROM queued_items");
  stage_.queued(
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO queued_items "
      "SELECT 'q' || i, '" +
      std::string(kPaginated) + "', '{}', i, 1, 1 FROM n");
  EXPECT_EQ(append(R"({"queue":"text"})").error().code, Errc::busy);
  stage_.queued("ALTER TABLE queued_items ADD COLUMN another TEXT");
  EXPECT_EQ(append(R"({"queue":"text"})").error().code, Errc::unsupported);
}

TEST_F(CodexWriting, AThreadThatCodexDoesNotOpenIsNotAppendedTo) {
  stage_.stop();
  CodexStage::put(stage_.path_of(kLegacy), CodexSegment::item("user", "input_text", "one") + "\n");
  stage_.start();
  const auto written = append("x", kLegacy);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::read_only);
}

bool is_archived_now(CodexStage& stage) {
  const auto session = stage.session();
  return session && is_marked(session->store(), session->place(), Mark::archived);
}

TEST_F(CodexWriting, AnArchivedThreadHasItsFilesInTheArchiveAndComesBack) {
  const std::string row = stage_.row();
  const std::string log = stage_.log();
  const std::string archived =
      stage_.home() + "/archived_sessions/" + fs::path(stage_.path_of(kPaginated)).filename().string();
  const std::string asked = "SELECT archived, archived_at > 1700000000, rollout_path FROM threads WHERE id = '" +
                            std::string(kPaginated) + "'";
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::archived, true));
  EXPECT_EQ(CodexStage::read(archived), log);
  EXPECT_FALSE(fs::exists(stage_.path_of(kPaginated)));
  EXPECT_EQ(stage_.query(asked), "1|1|" + archived + "\n");
  EXPECT_TRUE(is_archived_now(stage_));
  EXPECT_TRUE(append("into the archive"));
  fs::remove(archived);
  CodexStage::put(archived, log);
  stage_.start();
  EXPECT_TRUE(is_archived_now(stage_));
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::archived, false));
  EXPECT_EQ(stage_.log(), log);
  EXPECT_FALSE(fs::exists(archived));
  EXPECT_EQ(stage_.row(), row);
  EXPECT_FALSE(is_archived_now(stage_));
}

// As after a kill between the two: Codex finds no file where the row says.
TEST_F(CodexWriting, AnInterruptedMoveToTheArchiveIsCompletedByTheSameCommand) {
  const fs::path archived =
      stage_.home() + "/archived_sessions/" + fs::path(stage_.path_of(kPaginated)).filename().string();
  fs::create_directories(archived.parent_path());
  fs::rename(stage_.path_of(kPaginated), archived);
  stage_.start();
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::archived, true));
  EXPECT_EQ(stage_.query("SELECT archived, rollout_path FROM threads WHERE id = '" + std::string(kPaginated) + "'"),
            "1|" + archived.string() + "\n");
  EXPECT_TRUE(fs::exists(archived));
}

TEST_F(CodexWriting, AThreadThatAProgramHasLoadedIsNotMoved) {
  CodexStage::put(stage_.lock_of(kPaginated), "");
  const int lock = ::open(stage_.lock_of(kPaginated).c_str(), O_RDWR);
  const testing::Child holder([&] { ::pause(); });
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const auto done = stage_.writer().set_mark(stage_.session(), Mark::archived, true, true);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::busy);
  EXPECT_TRUE(fs::exists(stage_.path_of(kPaginated)));
  EXPECT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::pinned, true)) << "which is only in the database";
  ::close(lock);
}

TEST_F(CodexWriting, PinsFollowOneAnother) {
  const std::string asked =
      "SELECT id, section_position, section_entered_at_ms > 0 FROM threads WHERE thread_section_id = "
      "'01984de2-8f74-7c91-a3b2-5c5e937cf318' ORDER BY section_position";
  const std::string row = stage_.row();
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::pinned, true));
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(kLegacy), Mark::pinned, true));
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::pinned, true)) << "it is pinned already";
  EXPECT_EQ(stage_.query(asked), std::string(kPaginated) + "|1000000|1\n" + std::string(kLegacy) + "|2000000|1\n");
  EXPECT_TRUE(is_marked(stage_.session()->store(), stage_.session()->place(), Mark::pinned));
  ASSERT_TRUE(stage_.writer().set_mark(stage_.session(), Mark::pinned, false));
  EXPECT_EQ(stage_.query(asked), std::string(kLegacy) + "|2000000|1\n");
  EXPECT_EQ(stage_.row(), row);
  fs::remove(stage_.database());
  stage_.start();
  EXPECT_EQ(stage_.writer().set_mark(stage_.session(), Mark::pinned, true).error().code, Errc::not_found);
}

TEST_F(CodexWriting, ARemovedThreadIsBackByteForByteWithItsTimesAndItsName) {
  const std::string segment = "019c4740-4400-7084-801f-aaaaaaaaaaaa";
  const CodexSegment first = CodexSegment(kPaginated, true).turn("one", "two");
  stage_.stop();
  CodexStage::put(
      stage_.home() + "/archived_sessions/rollout-2026-02-11T10-00-00-" + kPaginated + "_" + segment + ".jsonl",
      CodexSegment(kPaginated, true,
                   R"(,"history_base":{"thread_id":")" + std::string(kPaginated) +
                       R"(","end_ordinal_exclusive":1,"end_byte_offset":)" +
                       std::to_string(first.text().find('\n') + 1) + "}",
                   1)
          .turn("other", "way")
          .text());
  stage_.start();
  const auto before = files_of(stage_);
  const std::string row = stage_.row();
  const auto removed = stage_.writer().remove(stage_.session());
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(stage_.session(), nullptr);
  EXPECT_EQ(stage_.sessions(), 1U);
  for (const auto& [path, bytes] : files_of(stage_)) {
    EXPECT_THAT(path, Not(HasSubstr(kPaginated)));
  }
  EXPECT_EQ(stage_.row(), row);
  const auto restored = stage_.restore_all();
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(files_of(stage_), before);
  EXPECT_EQ(stage_.title(), "First");
  EXPECT_THAT(stage_.context(), HasSubstr("two"));
}

TEST_F(CodexWriting, AThreadThatOthersBeginWithIsNotRemoved) {
  const std::string fork = "019c4740-4400-7084-801f-aaaaaaaaaaab";
  stage_.stop();
  CodexStage::put(
      stage_.path_of(fork),
      CodexSegment(fork, true,
                   R"(,"forked_from_id":")" + std::string(kPaginated) + R"(","history_base":{"thread_id":")" +
                       std::string(kPaginated) + R"(","end_ordinal_exclusive":6,"end_byte_offset":)" +
                       std::to_string(CodexSegment(kPaginated, true).turn("one", "two").text().size()) + "}",
                   6)
          .turn("other", "way")
          .text());
  stage_.start();
  const auto before = files_of(stage_);
  const auto removed = stage_.writer().remove(stage_.session(), true);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Errc::invalid_argument);
  EXPECT_THAT(removed.error().message, HasSubstr("forked from it: " + fork + "; remove these first"));
  EXPECT_EQ(files_of(stage_), before);
  ASSERT_TRUE(stage_.writer().remove(stage_.session(fork)));
  EXPECT_TRUE(stage_.writer().remove(stage_.session()));
}

std::string path_in_row(const CodexStage& stage) {
  const std::string path = stage.query("SELECT rollout_path FROM threads WHERE id = '" + std::string(kPaginated) + "'");
  return path.substr(0, path.find('\n'));
}

class CodexBranches : public CodexWriting {
 protected:
  CodexBranches() {
    stage_.stop();
    for (const bool is_paginated : {true, false}) {
      const char* const thread = is_paginated ? kPaginated : kLegacy;
      CodexStage::put(stage_.path_of(thread),
                      CodexSegment(thread, is_paginated).turn("one", "two").turn("three", "four").text());
    }
    stage_.start();
  }
  Result<MovedLeaf> branch(const std::string& target, const std::string& thread = kPaginated) {
    return stage_.writer().branch(stage_.session(thread), target);
  }
};

TEST_F(CodexBranches, ANewSegmentGoesBackToTheEndOfATurn) {
  const CodexSegment first = CodexSegment(kPaginated, true).turn("one", "two");
  const std::string before = stage_.log();
  const std::string old_path = path_in_row(stage_);
  const auto moved = branch("#2");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->leaf, std::string(kPaginated) + ":4");
  EXPECT_EQ(stage_.log(), before);
  const std::string path = path_in_row(stage_);
  EXPECT_THAT(path, MatchesRegex(stage_.home() + "/sessions/[0-9]{4}/[0-9]{2}/[0-9]{2}/rollout-[0-9T-]{19}-" +
                                 std::string(kPaginated) + "_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}[.]jsonl"));
  EXPECT_EQ(without_ids(CodexStage::read(path)),
            R"({"timestamp":X,"ordinal":6,"type":"session_meta","payload":{"id":X,"timestamp":X,"cwd":"/work",)"
            R"("originator":"codex-tui","cli_version":"0.171.0","source":"cli","model_provider":"openai",)"
            R"("history_mode":"paginated","history_base":{"thread_id":")" +
                std::string(kPaginated) + R"(","end_ordinal_exclusive":6,"end_byte_offset":)" +
                std::to_string(first.text().size()) + "}}}\n");
  EXPECT_THAT(stage_.context(), Not(HasSubstr("three")));
  ASSERT_TRUE(append("five"));
  EXPECT_THAT(CodexStage::read(path), HasSubstr(R"("ordinal":8,"type":"response_item")"));
  EXPECT_EQ(stage_.log(), before);
  EXPECT_THAT(stage_.context(), ::testing::AllOf(HasSubstr("two"), HasSubstr("five"), Not(HasSubstr("three"))));
  const auto again = branch("#4");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(path_in_row(stage_), old_path) << "the old segment goes on";
  EXPECT_THAT(stage_.context(), ::testing::AllOf(HasSubstr("four"), Not(HasSubstr("five"))));
  ASSERT_TRUE(append("six"));
  EXPECT_THAT(stage_.log(), StartsWith(before));
  stage_.start();
  EXPECT_THAT(stage_.context(), ::testing::AllOf(HasSubstr("four"), HasSubstr("six"), Not(HasSubstr("five"))));
}

// A base ends at a place in the file, so a thread in whose file another segment begins goes on in a new one.
TEST_F(CodexBranches, AThreadWithABranchInItsFileIsRelocatedByANewSegment) {
  ASSERT_TRUE(branch("#2"));
  const std::string branched = path_in_row(stage_);
  ASSERT_TRUE(branch("#4"));
  const std::string old_path = path_in_row(stage_);
  const std::string context = stage_.context();
  const auto moved = stage_.writer().relocate(stage_.session(kPaginated), {"/work", "/moved"});
  ASSERT_TRUE(moved) << moved.error().message;
  const std::string path = path_in_row(stage_);
  EXPECT_NE(path, old_path);
  EXPECT_EQ(fs::last_write_time(path), fs::last_write_time(old_path));
  EXPECT_THAT(CodexStage::read(path), ::testing::AllOf(HasSubstr(R"("cwd":"/moved")"), HasSubstr(R"("history_base")")));
  stage_.start();
  EXPECT_EQ(stage_.context(), context);
  EXPECT_EQ(stage_.session(kPaginated)->head().header.cwd, "/moved");
  ASSERT_TRUE(append("five"));
  EXPECT_THAT(CodexStage::read(path), HasSubstr("five"));
  const auto kept = stage_.writer().put_back({*moved});
  EXPECT_FALSE(kept);
  EXPECT_THAT(CodexStage::read(path), HasSubstr("five"));
}

// Codex compresses what was idle for a week, which is most of a project that moves.
TEST_F(CodexBranches, ACompressedThreadIsRelocatedByANewSegment) {
  const std::string plain = path_in_row(stage_);
  const std::string text = CodexStage::read(plain);
  std::string compressed(ZSTD_compressBound(text.size()), '\0');
  compressed.resize(ZSTD_compress(compressed.data(), compressed.size(), text.data(), text.size(), 3));
  std::ofstream(plain + ".zst", std::ios::binary) << compressed;
  fs::remove(plain);
  stage_.start();
  const std::string context = stage_.context();
  const auto moved = stage_.writer().relocate(stage_.session(kPaginated), {"/work", "/moved"});
  ASSERT_TRUE(moved) << moved.error().message;
  const std::string path = path_in_row(stage_);
  EXPECT_THAT(CodexStage::read(path), HasSubstr(R"("end_byte_offset":)" + std::to_string(text.size()) + "}"));
  stage_.start();
  EXPECT_EQ(stage_.context(), context);
  EXPECT_EQ(stage_.session(kPaginated)->head().header.cwd, "/moved");
  ASSERT_TRUE(stage_.writer().put_back({*moved}));
  EXPECT_EQ(path_in_row(stage_), plain);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(CodexStage::read(plain + ".zst"), compressed);
}

TEST_F(CodexBranches, TheRootDropsAllTurns) {
  const auto moved = branch("root");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->leaf, "root");
  EXPECT_EQ(stage_.context(), "{\"messages\":[\n]}\n");
  ASSERT_TRUE(append("again"));
  EXPECT_THAT(stage_.context(), ::testing::AllOf(HasSubstr("again"), Not(HasSubstr("one"))));
}

TEST_F(CodexBranches, CodexGoesBackOnlyToTheEndsOfTurns) {
  const auto before = files_of(stage_);
  const std::string row = stage_.row();
  for (const char* thread : {kPaginated, kLegacy}) {
    for (const std::string target : {"#1", "#3"}) {
      const auto moved = branch(target, thread);
      ASSERT_FALSE(moved);
      EXPECT_EQ(moved.error().code, Errc::invalid_argument);
      EXPECT_THAT(moved.error().message, StartsWith("Codex goes back only to the end of a turn"));
    }
  }
  EXPECT_EQ(files_of(stage_), before);
  EXPECT_EQ(stage_.row(), row);
}

TEST_F(CodexBranches, WithoutARowNothingIsMade) {
  stage_.query("DELETE FROM threads");
  const auto before = files_of(stage_);
  const auto moved = branch("#2");
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Errc::not_found);
  EXPECT_EQ(files_of(stage_), before);
}

TEST_F(CodexBranches, ALegacyThreadDropsTurns) {
  const std::string before = stage_.log(kLegacy);
  const auto moved = branch("#2", kLegacy);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->leaf, std::string(kLegacy) + ":4");
  expect_appended(
      before, {R"({"timestamp":X,"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}})"}, kLegacy);
  EXPECT_THAT(stage_.context(kLegacy), ::testing::AllOf(HasSubstr("two"), Not(HasSubstr("three"))));
  const auto back = branch("#4", kLegacy);
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().message, HasSubstr("cannot return to turns that this thread has dropped"));
}

TEST_F(CodexWriting, AForkFromAnotherAgentIsAThreadThatCodexListsAndContinues) {
  CodexStage::put(stage_.home() + "/config.toml", "# settings\nmodel = \"m\"\nmodel_provider = \"mine\" # here\n[x]\n");
  Conversation conversation;
  conversation.cwd = "/work/kite";
  conversation.title = "Kites";
  conversation.left_out = 0;
  const auto turn = [&](Turn::Speaker speaker) -> Turn& {
    conversation.turns.emplace_back();
    conversation.turns.back().speaker = speaker;
    conversation.turns.back().time_ms = 1'700'000'000'000;
    return conversation.turns.back();
  };
  turn(Turn::Speaker::user).add(TurnPart::Kind::text, "Look");
  conversation.turns.back().add_image({"image/png", "iVBORw0KGgo=", ""});
  turn(Turn::Speaker::assistant).add(TurnPart::Kind::reasoning, "hm");
  conversation.turns.back().add_call("c1", "read", "{\"path\":\"a\"}");
  turn(Turn::Speaker::tool).parts.push_back({TurnPart::Kind::tool_result, "text", "c1", "read"});
  turn(Turn::Speaker::assistant).add(TurnPart::Kind::text, "Seen.");
  const auto adopted = stage_.writer().adopt(conversation, "codex");
  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_EQ(adopted->as_text.reasoning, 1U);
  const std::string id = adopted->made.id;
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  const std::string path = stage_.query("SELECT rollout_path FROM threads WHERE id = '" + id + "'");
  EXPECT_THAT(path, MatchesRegex(stage_.home() + "/sessions/[0-9]{4}/[0-9]{2}/[0-9]{2}/rollout-[0-9T-]{19}-" + id +
                                 "[.]jsonl\n"));
  EXPECT_EQ(
      stage_.query("SELECT source, model_provider, cwd, title, sandbox_policy, approval_mode, archived, "
                   "first_user_message, preview, history_mode, name, created_at_ms IS NOT NULL FROM threads WHERE "
                   "id = '" +
                   id + "'"),
      "cli|mine|/work/kite|Look|{}|never|0|Look|Look|paginated|Kites|1\n");
  const auto lines = lines_of(without_ids(CodexStage::read(path.substr(0, path.size() - 1))));
  const auto record = [](int ordinal, const std::string& type, const std::string& payload) {
    return R"({"timestamp":X,"ordinal":)" + std::to_string(ordinal) + R"(,"type":")" + type + R"(","payload":)" +
           payload + "}";
  };
  ASSERT_EQ(lines.size(), 11U);
  EXPECT_EQ(lines[0], record(0, "session_meta",
                             R"({"session_id":")" + id +
                                 R"(","id":X,"timestamp":X,"cwd":"/work/kite","originator":)"
                                 R"("codex-tui","cli_version":"0.171.0","source":"cli","model_provider":"mine",)"
                                 R"("history_mode":"paginated"})"));
  EXPECT_EQ(lines[2], record(2, "response_item",
                             R"({"type":"message","role":"user","content":[{"type":"input_text","text":"Look"},)"
                             R"({"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]})"));
  EXPECT_THAT(lines[3], HasSubstr(R"("content":[{"type":"text","text":"Look"},{"type":"image","image_url":"data:)"));
  EXPECT_EQ(lines[6],
            record(6, "response_item",
                   R"({"type":"function_call","name":"read","arguments":"{\"path\":\"a\"}","call_id":"c1"})"));
  EXPECT_EQ(lines[7], record(7, "response_item", R"({"type":"function_call_output","call_id":"c1","output":"text"})"));
  EXPECT_THAT(lines[10], HasSubstr(R"("type":"task_complete","turn_id":X,"last_agent_message":"Seen.")"));
  EXPECT_EQ(stage_.title(id), "Kites");
  EXPECT_THAT(stage_.names(), EndsWith("\"}\n"));
  ASSERT_TRUE(append("And now?", id));
  EXPECT_THAT(stage_.context(id), HasSubstr("And now?"));
}

TEST_F(CodexWriting, AForkNeedsNoDatabase) {
  stage_.stop();
  fs::remove_all(stage_.home());
  fs::create_directories(stage_.home());
  stage_.start();
  Conversation conversation;
  conversation.cwd = "/work";
  conversation.turns.emplace_back();
  conversation.turns.back().time_ms = 1'700'000'000'000;
  conversation.turns.back().add(TurnPart::Kind::text, "Look");
  const auto adopted = stage_.writer().adopt(conversation, "codex");
  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_THAT(stage_.context(adopted->made.id), HasSubstr("Look"));
}

TEST(CodexWriterOfDocuments, OnlyRemovesThem) {
  WriteSettings settings;
  settings.allow_delete = true;
  CodexStage stage(Disk::real(), settings);
  const std::string path = stage.home() + "/sessions/rollout-2025-04-20-" + kDocument + ".json";
  CodexStage::put(path, R"({"session":{"timestamp":"2025-04-20T10:00:00.000Z","id":")" + std::string(kDocument) +
                            R"("},"items":[{"type":"message","role":"user","content":[{"type":"input_text",)"
                            R"("text":"rename it"}]}]})");
  const std::string before = CodexStage::read(path);
  stage.start();
  const SessionPtr session = stage.session(kDocument);
  ASSERT_TRUE(session);
  for (const Error& error :
       {stage.writer().append_text(session, {"more", false, ""}).error(),
        stage.writer().append_text(session, {R"({"queue":"more"})", true, ""}).error(),
        stage.writer().check_json(session, R"({"role":"user","content":"more"})").error(),
        stage.writer().set_title(session, "more").error(), stage.writer().set_mark(session, Mark::pinned, true).error(),
        stage.writer().relocate(session, {"/work", "/moved"}).error(), stage.writer().branch(session, "#1").error()}) {
    EXPECT_EQ(error.code, Errc::read_only);
    EXPECT_THAT(error.message, HasSubstr("one JSON document, which no version goes on with"));
  }
  EXPECT_EQ(CodexStage::read(path), before);
  const auto removed = stage.writer().remove(session);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(stage.session(kDocument), nullptr);
  ASSERT_TRUE(stage.restore_all());
  EXPECT_EQ(CodexStage::read(path), before);
  EXPECT_NE(stage.session(kDocument), nullptr);
}

}  // namespace
}  // namespace arborfs
