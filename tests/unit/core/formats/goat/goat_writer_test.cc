// Writes by arborfs to goat's sessions keep every other line, and goat can read them (goat/FORMAT.md).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <regex>
#include <sstream>
#include <thread>

#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/formats/goat/writer.h"
#include "core/formats/registry.h"
#include "core/store/store_parts.h"
#include "fs/control/client_process.h"
#include "tests/support/goat_stage.h"
#include "tests/support/split_disk.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
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

class GoatWriting : public ::testing::Test {
 protected:
  GoatWriting() : stage_(Disk::real(), allowing_delete()) {
    stage_.add("s1", kMessages);
    stage_.start();
  }
  static WriteSettings allowing_delete() {
    WriteSettings settings;
    settings.allow_delete = true;
    return settings;
  }
  [[nodiscard]] goat::Writer& writer() { return stage_.writer(); }
  [[nodiscard]] SessionPtr session() { return stage_.session(); }
  [[nodiscard]] std::string messages() const { return stage_.file("messages.jsonl"); }
  Result<void> restore(const Trashed& trashed) {
    return restore_session(stage_.settings().trash, trashed, stage_.catalog().stores());
  }
  static Errc code_of(const Result<AppendResult>& result) { return result ? Errc::io : result.error().code; }

  const std::string kMessages =
      testing::GoatStage::line("u1", "user", "one") + testing::GoatStage::line("u2", "assistant", "two");
  testing::GoatStage stage_;
};

TEST_F(GoatWriting, AnAppendAddsALineInTheShapeOfTheFirstOne) {
  const auto written = writer().append_text(session(), {"three \"x\" <&>\n", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "u2");
  EXPECT_THAT(written->id, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_THAT(messages(), StartsWith(kMessages + R"({"uuid":")" + written->id + R"(","timestamp":"2)"));
  EXPECT_THAT(messages(), EndsWith(R"(,"message":{"role":"user","content":"three \"x\" \u003c\u0026\u003e"}})"
                                   "\n"));
  const auto guard = session()->read();
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard->index().id(guard->leaf()).text, written->id);
}

TEST_F(GoatWriting, AFlatSessionStaysFlat) {
  stage_.add("s1", R"({"uuid":"u1","timestamp":"2026-02-09T10:00:01Z","role":"user","content":"one"})"
                   "\n");
  stage_.start();
  ASSERT_TRUE(writer().append_text(session(), {"two", false, ""}));
  EXPECT_THAT(messages(), EndsWith(R"(,"role":"user","content":"two"})"
                                   "\n"));
}

TEST_F(GoatWriting, TheFirstMessageMakesTheFile) {
  stage_.add("s2", "");
  stage_.start();
  const auto written = writer().append_text(stage_.session("s2"), {"one", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "");
  EXPECT_THAT(stage_.file("messages.jsonl", "s2"), HasSubstr(R"("message":{"role":"user","content":"one"}})"));
  EXPECT_EQ(testing::GoatStage::names_in(stage_.base() + "/s2"),
            (std::vector<std::string>{"messages.jsonl", "messages.jsonl.lock", "metadata.json"}));
}

TEST_F(GoatWriting, ATornEndIsNeverGluedTo) {
  testing::GoatStage::put(stage_.base() + "/s1/messages.jsonl", kMessages + "{\"uuid\":\"u3");
  stage_.start();
  const auto written = writer().append_text(session(), {"three", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "u2");
  EXPECT_THAT(messages(), StartsWith(kMessages + "{\"uuid\":\"u3\n{\"uuid\":\"" + written->id));
}

TEST_F(GoatWriting, SeveralMessagesAreWrittenTogetherOrNotAtAll) {
  const auto refused =
      writer().append_text(session(), {R"({"role":"user","content":"x"}{"role":"bot","content":"y"})", true, ""});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("object 2: role"));
  EXPECT_EQ(messages(), kMessages);
  const auto written = writer().append_text(
      session(),
      {R"({"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]})"
       R"({"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"t"}],"ifLeaf":"u2"})",
       true, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(lines_of(messages()).size(), 4U);
  EXPECT_THAT(messages(), HasSubstr(R"("role":"assistant","content":null,"tool_calls":[{"id":"c")"));
  EXPECT_THAT(messages(), Not(HasSubstr("ifLeaf")));
}

TEST_F(GoatWriting, WhatGoatWouldNotReadIsRefused) {
  for (const std::string object :
       {R"({"role":"user","content":5})", R"({"role":"user","content":[{"type":"audio"}]})",
        R"({"role":"user","content":"","uuid":"x"})", R"({"role":"assistant","tool_calls":[{"id":1}]})",
        R"({"role":"tool","tool_call_id":7})", R"([])", R"({})"}) {
    EXPECT_EQ(code_of(writer().append_text(session(), {object, true, ""})), Errc::invalid_argument) << object;
  }
  EXPECT_EQ(code_of(writer().append_text(session(), {std::string(11 << 20, 'x'), false, ""})), Errc::too_large);
  EXPECT_EQ(code_of(writer().append_text(session(), {"", false, ""})), Errc::invalid_argument);
  EXPECT_EQ(code_of(writer().append_text(session(), {"\xFF", false, ""})), Errc::not_utf8);
  EXPECT_EQ(messages(), kMessages);
}

TEST_F(GoatWriting, ConditionsNameTheLastMessage) {
  EXPECT_EQ(code_of(writer().append_text(session(), {"x", false, "u1"})), Errc::stale);
  EXPECT_EQ(code_of(writer().append_text(session(), {R"({"role":"user","content":"x","ifLeaf":"u1"})", true, ""})),
            Errc::stale);
  EXPECT_EQ(messages(), kMessages);
  EXPECT_TRUE(writer().append_text(session(), {"x", false, "u2"}));
}

TEST_F(GoatWriting, ARecordWithATypeGoesToTheTranscript) {
  const auto written =
      writer().append_text(session(), {R"({"type":"result","subtype":"success","cost":0.5})", true, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(stage_.file("transcript.jsonl"), R"({"type":"result","uuid":")" + written->id +
                                                 R"(","session_id":"s1","subtype":"success","cost":0.5})"
                                                 "\n");
  EXPECT_EQ(messages(), kMessages);
  const auto mixed = writer().append_text(session(), {R"({"type":"a"}{"role":"user","content":""})", true, ""});
  EXPECT_EQ(code_of(mixed), Errc::invalid_argument);
}

/// A condition that is not checked must not be taken.
TEST_F(GoatWriting, ARecordOfTheTranscriptTakesNoCondition) {
  EXPECT_EQ(code_of(writer().append_text(session(), {R"({"type":"result","ifLeaf":"u1"})", true, ""})),
            Errc::invalid_argument);
  EXPECT_EQ(stage_.file("transcript.jsonl"), "");
}

TEST_F(GoatWriting, TheMetadataFollowsAppends) {
  ASSERT_TRUE(writer().append_text(session(), {"three", false, ""}));
  EXPECT_EQ(stage_.file("metadata.json"), stage_.metadata("s1"));
  writer().settle();
  const std::string now = stage_.file("metadata.json");
  EXPECT_THAT(now, HasSubstr("\"message_count\": 3,\n  \"turn_count\": 1,\n  \"total_cost_usd\": 1.50,\n"));
  EXPECT_THAT(now, HasSubstr("\"created_at\": \"2026-02-09T10:00:01.5+01:00\""));
  EXPECT_THAT(now, Not(HasSubstr("\"updated_at\": \"2026-02-09T10:00:01.5+01:00\"")));
  EXPECT_THAT(now, EndsWith("\"exit_reason\": \"end_turn\"\n}"));
}

/// The writer's own thread does it, and the end of the writer does the rest.
TEST_F(GoatWriting, TheMetadataFollowsWithoutBeingAsked) {
  ASSERT_TRUE(writer().append_text(session(), {"three", false, ""}));
  stage_.stop();
  EXPECT_THAT(stage_.file("metadata.json"), HasSubstr("\"message_count\": 3"));
  stage_.start();
  goat::Writer quick(stage_.catalog(), WriteSettings(), std::chrono::milliseconds(1));
  ASSERT_TRUE(quick.append_text(session(), {"four", false, ""}));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (stage_.file("metadata.json").find("\"message_count\": 4") == std::string::npos &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_THAT(stage_.file("metadata.json"), HasSubstr("\"message_count\": 4"));
}

TEST_F(GoatWriting, ATitleKeepsEveryOtherByteOfTheMetadata) {
  const auto title = writer().set_title(session(), "New\n<title>");
  ASSERT_TRUE(title) << title.error().message;
  EXPECT_EQ(*title, "New <title>");
  std::string wanted = stage_.metadata("s1");
  wanted.replace(wanted.find("First"), 5, "New \\u003ctitle\\u003e");
  EXPECT_EQ(stage_.file("metadata.json"), wanted);
  EXPECT_EQ(session()->title(), "New <title>");
  EXPECT_EQ(*writer().set_title(session(), "Automatic", false, "auto"), "New <title>");
}

TEST(GoatMetadata, MembersAreReplacedOrAdded) {
  EXPECT_EQ(goat::with_metadata("{}", "a", "1"), "{\n  \"a\": 1\n}");
  EXPECT_EQ(goat::with_metadata("{\n  \"b\": {\"a\": 2}\n}", "a", "1"), "{\n  \"b\": {\"a\": 2},\n  \"a\": 1\n}");
  EXPECT_EQ(goat::with_metadata(R"({"A":5, "a":{"x":"}"}} )", "a", "1"), R"({"A":5, "a":1} )");
  EXPECT_EQ(goat::with_metadata(R"({"b":[]} )", "a", "1"), "{\"b\":[],\n  \"a\": 1\n} ");
}

TEST_F(GoatWriting, ANewSessionHasMetadataAsGoatWritesIt) {
  NewSession wanted;
  wanted.cwd = "/work/<x>/";
  wanted.title = "A title";
  wanted.model = "gpt-5-nano";
  const auto made = writer().create(wanted);
  ASSERT_TRUE(made) << made.error().message;
  const std::string metadata = stage_.file("metadata.json", made->id);
  EXPECT_THAT(metadata, StartsWith("{\n  \"id\": \"" + made->id +
                                   "\",\n  \"cwd\": \"/work/\\u003cx\\u003e\",\n  \"model\": \"gpt-5-nano\",\n  "
                                   "\"created_at\": \"2"));
  EXPECT_THAT(metadata, EndsWith("  \"message_count\": 0,\n  \"turn_count\": 0,\n  \"total_cost_usd\": 0,\n  "
                                 "\"leaf_title\": \"A title\"\n}"));
  EXPECT_TRUE(writer().append_text(made->session, {"one", false, ""}));
  wanted.cwd = "work";
  EXPECT_EQ(writer().create(wanted).error().code, Errc::invalid_argument);
}

TEST_F(GoatWriting, AForkHasTheSameMessages) {
  testing::GoatStage::put(stage_.base() + "/s1/messages.jsonl",
                          kMessages + "torn\n\n" + testing::GoatStage::line("u3", "user", "three"));
  stage_.start();
  const auto whole = writer().fork(session());
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(stage_.file("messages.jsonl", whole->id), kMessages + testing::GoatStage::line("u3", "user", "three"));
  const std::string metadata = stage_.file("metadata.json", whole->id);
  EXPECT_THAT(metadata, StartsWith("{\n  \"id\": \"" + whole->id + "\",\n  \"cwd\""));
  EXPECT_THAT(metadata, HasSubstr("\"message_count\": 2,"));
  EXPECT_THAT(metadata, HasSubstr("\"leaf_title\": \"First\""));
  EXPECT_THAT(metadata, EndsWith("\"parent_session_id\": \"s1\"\n}"));
  const auto part = writer().fork(session(), "u1", false, "");
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(stage_.file("messages.jsonl", part->id), testing::GoatStage::line("u1", "user", "one"));
  EXPECT_THAT(stage_.file("metadata.json", part->id), HasSubstr("\"message_count\": 1,"));
  EXPECT_THAT(stage_.file("metadata.json", part->id), HasSubstr("\"leaf_title\": \"First (fork)\""));
  EXPECT_THAT(stage_.file("metadata.json", part->id), EndsWith("\"fork_point_uuid\": \"u1\"\n}"));
  EXPECT_EQ(writer().fork(session(), "nope").error().code, Errc::not_found);
}

TEST_F(GoatWriting, AForkDoesNotEndBetweenAToolCallAndItsResult) {
  const auto written = writer().append_text(
      session(),
      {R"({"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]})"
       R"({"role":"tool","tool_call_id":"c","content":"done"})",
       true, ""});
  ASSERT_TRUE(written);
  EXPECT_EQ(writer().fork(session(), "#3").error().code, Errc::invalid_argument);
  EXPECT_TRUE(writer().fork(session(), "#3", true));
  EXPECT_TRUE(writer().fork(session(), "#4"));
}

TEST_F(GoatWriting, ARemovedSessionComesBackAsItWas) {
  testing::GoatStage::put(stage_.base() + "/s1/checkpoints/c/manifest.json", "{}");
  ASSERT_TRUE(writer().remove(session()));
  EXPECT_FALSE(session());
  EXPECT_TRUE(std::filesystem::is_empty(stage_.base()));
  const Trash trash(stage_.settings().trash);
  ASSERT_EQ(trash.list().size(), 1U);
  EXPECT_EQ(trash.list()[0].agent, "goat");
  EXPECT_EQ(trash.list()[0].title, "First");
  const auto back = restore(trash.list()[0]);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(messages(), kMessages);
  EXPECT_EQ(stage_.file("checkpoints/c/manifest.json"), "{}");
  EXPECT_TRUE(trash.list().empty());
}

TEST_F(GoatWriting, ARestoreReplacesNoSession) {
  ASSERT_TRUE(writer().remove(session()));
  stage_.add("s1", testing::GoatStage::line("other", "user", "x"));
  const Trash trash(stage_.settings().trash);
  EXPECT_EQ(restore(trash.list().at(0)).error().code, Errc::already_exists);
  EXPECT_EQ(messages(), testing::GoatStage::line("other", "user", "x"));
  EXPECT_EQ(trash.list().size(), 1U);
}

/// A copy of the session that lacks files from the trash is a different session.
TEST_F(GoatWriting, ARestoreLosesNothingToACopyOfTheSession) {
  testing::GoatStage::put(stage_.base() + "/s1/transcript.jsonl", "{}\n");
  ASSERT_TRUE(writer().remove(session()));
  stage_.add("s1", kMessages);
  const Trash trash(stage_.settings().trash);
  EXPECT_EQ(restore(trash.list().at(0)).error().code, Errc::already_exists);
  ASSERT_EQ(trash.list().size(), 1U);
  testing::GoatStage::put(stage_.base() + "/s1/transcript.jsonl", "{}\n");
  const auto back = restore(trash.list().at(0));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(trash.list().empty());
}

TEST_F(GoatWriting, AForkOfAPrivateSessionIsPrivate) {
  constexpr auto kPrivate = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  for (const char* file : {"messages.jsonl", "metadata.json"}) {
    std::filesystem::permissions(stage_.base() + "/s1/" + file, kPrivate);
  }
  const auto made = writer().fork(session());
  ASSERT_TRUE(made) << made.error().message;
  for (const char* file : {"messages.jsonl", "metadata.json"}) {
    EXPECT_EQ(std::filesystem::status(stage_.base() + "/" + made->id + "/" + file).permissions(), kPrivate) << file;
  }
}

/// A disk that has room for what is written, but not when it is synced.
class FullAtSync : public Disk {
 public:
  Result<void> sync(int /*fd*/) override { return Error{Errc::no_space, "no space"}; }
};

/// "No space" would make the caller write the same again.
TEST(GoatWritingToAFullDisk, AnAppendThatIsNotSyncedSaysThatItIsThere) {
  FullAtSync disk;
  testing::GoatStage stage(disk);
  stage.add("s1", testing::GoatStage::line("u1", "user", "one"));
  stage.start();
  for (const auto& [text, file] : {std::pair(R"({"role":"user","content":"two"})", "messages.jsonl"),
                                   std::pair(R"({"type":"two"})", "transcript.jsonl")}) {
    const auto written = stage.writer().append_text(stage.session(), {text, true, ""});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Errc::io) << file;
    EXPECT_THAT(written.error().message, HasSubstr("check the end of the log")) << file;
    EXPECT_THAT(stage.file(file), HasSubstr("two")) << file;
  }
}

TEST(GoatWritingToAFullDisk, ANewSessionThatIsNotSyncedSaysThatItIsThere) {
  class FullAtFolderSync final : public Disk {
   public:
    std::string folder;
    Result<void> sync_folder(const Dir& synced) override {
      return testing::path_of(synced) == folder ? Result<void>(Errc::no_space, "no space") : Result<void>();
    }
  } disk;
  testing::GoatStage stage(disk);
  stage.add("s1", testing::GoatStage::line("u1", "user", "one"));
  stage.start();
  disk.folder = stage.base();
  const auto made = stage.writer().fork(stage.session());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::io);
  ASSERT_EQ(stage.catalog().view()->by_id.size(), 2U);
  std::string id;
  for (const auto& [name, session] : stage.catalog().view()->by_id) {
    id = session->stem() == "s1" ? id : session->stem();
  }
  EXPECT_THAT(made.error().message, HasSubstr("the new session " + id + " is there"));
}

TEST_F(GoatWriting, AFileThatIsWrittenWhileItsSessionIsCopiedToTheTrashIsKept) {
  class BusyDisk final : public testing::SplitDisk {
   public:
    std::function<void()> act;
    Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                        Existing existing) override {
      auto done = SplitDisk::rename(from, name, to, new_name, existing);
      if (const auto now = done && new_name == "s1" ? std::exchange(act, nullptr) : nullptr) {
        now();
      }
      return done;
    }
  } disk;
  testing::GoatStage stage(disk, allowing_delete());
  stage.add("s1", kMessages);
  testing::GoatStage::put(stage.base() + "/s1/transcript.jsonl", "{}\n");
  stage.start();
  disk.set_apart(stage.settings().trash);
  disk.act = [&] { std::ofstream(stage.base() + "/s1/transcript.jsonl", std::ios::app) << "{\"late\":1}\n"; };
  EXPECT_EQ(stage.writer().remove(stage.session()).error().code, Errc::stale);
  EXPECT_EQ(stage.file("transcript.jsonl"), "{}\n{\"late\":1}\n");
  EXPECT_EQ(stage.file("messages.jsonl"), kMessages);
  EXPECT_TRUE(Trash(stage.settings().trash).list().empty());
  const auto again = stage.writer().remove(stage.session());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(stage.base()));
}

TEST_F(GoatWriting, ASessionWithoutMetadataIsNotWritten) {
  std::filesystem::remove(stage_.base() + "/s1/metadata.json");
  stage_.start();
  EXPECT_EQ(code_of(writer().append_text(session(), {"x", false, ""})), Errc::read_only);
  EXPECT_EQ(writer().set_title(session(), "x").error().code, Errc::read_only);
  EXPECT_EQ(testing::GoatStage::names_in(stage_.base() + "/s1"), (std::vector<std::string>{"messages.jsonl"}));
}

/// A killed process leaves files that it has not moved into place; files that may still be in use are not reported.
TEST_F(GoatWriting, LeftoversOfInterruptedWritesAreFound) {
  const std::vector<std::string> left{stage_.base() + "/.arborfs-1.tmp", stage_.base() + "/s1/.arborfs-2.tmp",
                                      stage_.base() + "/s1/checkpoints/.arborfs-3.tmp"};
  std::vector<std::ofstream> in_use;
  for (const std::string& path : left) {
    testing::GoatStage::put(path, "part");
    in_use.emplace_back(path.substr(0, path.rfind('/')) + "/.arborfs-used.tmp");
  }
  const auto in_base = faults_of(session()->store());
  ASSERT_EQ(in_base.size(), 1U);
  EXPECT_EQ(in_base[0].path, left[0]);
  const auto in_session = faults_of(session()->store(), session()->place());
  ASSERT_EQ(in_session.size(), 2U);
  EXPECT_EQ(in_session[0].kind, "leftover_temporary");
  EXPECT_THAT(in_session[0].text, StartsWith(left[1]));
  EXPECT_THAT(in_session[1].text, StartsWith(left[2]));
}

/// Runs `work` in a process of its own, which then waits until the object ends.
class OtherProgram {
 public:
  template <class Work>
  explicit OtherProgram(const Work& work) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    EXPECT_EQ(::pipe(until_), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(until_[1]);
      const int held = work();
      char byte = held >= 0 ? 'y' : 'n';
      static_cast<void>(!::write(ready[1], &byte, 1));
      static_cast<void>(!::read(until_[0], &byte, 1));
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~OtherProgram() {
    ::close(until_[1]);
    ::waitpid(pid_, nullptr, 0);
    ::close(until_[0]);
  }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;

 private:
  int until_[2] = {};
  pid_t pid_ = 0;
};

TEST_F(GoatWriting, ASessionThatAProgramHoldsIsNotWrittenUnlessForced) {
  const std::string log = stage_.base() + "/s1/messages.jsonl";
  const OtherProgram goat([&] { return ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); });
  EXPECT_EQ(code_of(writer().append_text(session(), {"x", false, ""})), Errc::busy);
  EXPECT_EQ(writer().set_title(session(), "x").error().code, Errc::busy);
  EXPECT_EQ(messages(), kMessages);
  EXPECT_TRUE(writer().append_text(session(), {R"({"role":"user","content":"x","force":true})", true, ""}));
  EXPECT_EQ(lines_of(messages()).size(), 3U);
  EXPECT_TRUE(writer().fork(session()));
}

int lock_of(const std::string& file) {
  const int lock = ::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0 ? lock : -1;
}

TEST_F(GoatWriting, ALockThatAProgramKeepsMakesTheSessionLive) {
  for (const std::string name : {"messages.jsonl", "transcript.jsonl"}) {
    const OtherProgram goat([&] { return lock_of(stage_.base() + "/s1/" + name); });
    const auto refused = writer().append_text(session(), {"x", false, ""});
    ASSERT_EQ(code_of(refused), Errc::busy) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("another process holds " + name + ".lock; end that program"));
  }
  EXPECT_EQ(messages(), kMessages);
  EXPECT_TRUE(writer().append_text(session(), {"x", false, ""}));
}

// A removal renames the session's folder while an append waits for its lock.
TEST_F(GoatWriting, AnAppendDoesNotFollowTheSessionOutOfItsStore) {
  const auto held = session();
  const std::string folder = stage_.base() + "/s1";
  const UniqueFd lock(lock_of(folder + "/messages.jsonl"));
  ASSERT_TRUE(lock);
  Result<AppendResult> done(Errc::interrupted, "not done");
  std::atomic<bool> has_ended = false;
  std::thread appender([&] {
    done = writer().append_text(held, {"x", false, ""});
    has_ended = true;
  });
  constexpr int kWaits = 100;  // looks in a row: an attempt without waiting has it open for a shorter time
  const auto is_lock = [](std::string_view path) { return path.ends_with("/s1/messages.jsonl.lock"); };
  for (int seen = 0; !has_ended && seen < kWaits;) {
    seen = open_links(::getpid(), is_lock).value_or(0) == 2 ? seen + 1 : 0;
  }
  std::filesystem::rename(folder, stage_.base() + "/elsewhere");
  ASSERT_EQ(::flock(lock.get(), LOCK_UN), 0);
  appender.join();
  EXPECT_EQ(code_of(done), Errc::not_found);
  EXPECT_EQ(testing::GoatStage::read(stage_.base() + "/elsewhere/messages.jsonl"), kMessages);
}

TEST_F(GoatWriting, ARefusedAppendMakesNoFiles) {
  stage_.add("s2", "");
  stage_.start();
  const std::vector<std::string> names{"messages.jsonl", "metadata.json"};
  const OtherProgram goat(
      [&] { return ::open((stage_.base() + "/s1/messages.jsonl").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); });
  EXPECT_EQ(code_of(writer().append_text(session(), {"x", false, ""})), Errc::busy);
  EXPECT_EQ(testing::GoatStage::names_in(stage_.base() + "/s1"), names);
  const OtherProgram other([&] { return lock_of(stage_.base() + "/s2/transcript.jsonl"); });
  EXPECT_EQ(code_of(writer().append_text(stage_.session("s2"), {"x", false, ""})), Errc::busy);
  EXPECT_EQ(testing::GoatStage::names_in(stage_.base() + "/s2"),
            (std::vector<std::string>{"metadata.json", "transcript.jsonl.lock"}));
}

TEST_F(GoatWriting, ALogIsOnlyLockedAtOnceIfNothingHasToBeMade) {
  auto opened = Dir::open_root(stage_.base() + "/s1");
  ASSERT_TRUE(opened);
  const auto folder = std::make_shared<const Dir>(std::move(*opened));
  const auto try_lock = [&] { return goat::try_lock_log(Disk::real(), folder, "messages.jsonl"); };
  EXPECT_EQ(try_lock(), nullptr);
  EXPECT_EQ(testing::GoatStage::names_in(stage_.base() + "/s1"),
            (std::vector<std::string>{"messages.jsonl", "metadata.json"}));
  ASSERT_TRUE(goat::lock_log(Disk::real(), folder, "messages.jsonl"));
  const auto locked = try_lock();
  ASSERT_NE(locked, nullptr);
  EXPECT_EQ(locked->stat().size, kMessages.size());
  EXPECT_EQ(try_lock(), nullptr);
  locked->release();
  std::filesystem::remove(stage_.base() + "/s1/messages.jsonl");
  EXPECT_EQ(try_lock(), nullptr);
}

/// Appends as goat does: with a descriptor that stays open, and under its lock for each write.
void append_as_goat(const std::string& folder, int count) {
  const int log = ::open((folder + "/messages.jsonl").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const int lock = ::open((folder + "/messages.jsonl.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  for (int i = 0; i < count; ++i) {
    ::flock(lock, LOCK_EX);
    const std::string line = testing::GoatStage::line("goat-" + std::to_string(i), "assistant", std::string(6000, 'g'));
    for (std::size_t half : {line.size() / 2, line.size()}) {
      const std::size_t from = half == line.size() ? line.size() / 2 : 0;
      static_cast<void>(!::write(log, line.data() + from, half - from));
    }
    ::flock(lock, LOCK_UN);
  }
}

/// The order of each writer's own messages, none torn and none lost.
TEST_F(GoatWriting, ManyWritersBesideGoatLoseAndTearNothing) {
  constexpr int kWriters = 64;
  constexpr int kEach = 5;
  constexpr int kOfGoat = 200;
  const pid_t goat = ::fork();
  if (goat == 0) {
    append_as_goat(stage_.base() + "/s1", kOfGoat);
    ::_exit(0);
  }
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int writer_number = 0; writer_number < kWriters; ++writer_number) {
    threads.emplace_back([this, writer_number, &failed] {
      for (int i = 0; i < kEach; ++i) {
        const std::string text = "w" + std::to_string(writer_number) + "-" + std::to_string(i);
        const auto written =
            writer().append_text(session(), {R"({"role":"user","content":")" + text + R"(","force":true})", true, ""});
        failed += written ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  int status = 1;
  ::waitpid(goat, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(lines_of(messages()).size(), 2U + kWriters * kEach + kOfGoat);
  stage_.start();
  ASSERT_TRUE(session()->refresh(Depth::index));
  const auto guard = session()->read();
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard->index().size(), 2U + kWriters * kEach + kOfGoat);
  EXPECT_TRUE(guard->index().damage().empty());
  std::map<std::string, int> next;
  static const std::regex kOurs("\"content\":\"(w[0-9]+)-([0-9]+)\"");
  for (const std::string& line : lines_of(messages())) {
    std::smatch found;
    if (std::regex_search(line, found, kOurs)) {
      EXPECT_EQ(std::stoi(found[2]), next[found[1]]++) << found[1];
    }
  }
  EXPECT_EQ(next.size(), static_cast<std::size_t>(kWriters));
}

/// Another program acts when a new file of the metadata is about to get its name.
class BusyDisk final : public Disk {
 public:
  std::function<void()> act;
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    if (const auto now = std::exchange(act, nullptr)) {
      now();
    }
    return Disk::exchange(folder, name, other);
  }
};

TEST_F(GoatWriting, AChangeOfTheMetadataWhileItsNewFileGetsItsNameIsKept) {
  BusyDisk disk;
  testing::GoatStage stage(disk);
  stage.add("s1", kMessages);
  stage.start();
  const std::string path = stage.base() + "/s1/metadata.json";
  bool has_changed = false;
  disk.act = [&] {
    has_changed = true;
    const std::string before = testing::GoatStage::read(path);
    std::ofstream(path) << "{\"total_cost_usd\": 12.5," << before.substr(1);
  };
  ASSERT_TRUE(stage.writer().set_title(stage.session(), "a title"));
  EXPECT_TRUE(has_changed);
  EXPECT_THAT(testing::GoatStage::read(path), HasSubstr("a title"));
  EXPECT_THAT(testing::GoatStage::read(path), HasSubstr("12.5"));
}

TEST_F(GoatWriting, AMessageOfAnotherProgramIsCountedInTheMetadata) {
  BusyDisk disk;
  testing::GoatStage stage(disk);
  stage.add("s1", kMessages);
  stage.start();
  ASSERT_TRUE(stage.writer().append_text(stage.session(), {"three", false, ""}));
  bool has_appended = false;
  disk.act = [&] {
    has_appended = true;
    std::ofstream(stage.base() + "/s1/messages.jsonl", std::ios::app)
        << testing::GoatStage::line("u4", "assistant", "four");
    std::string metadata = stage.metadata("s1");
    metadata.replace(metadata.find("\"message_count\": 2"), 18, "\"message_count\": 4");
    std::ofstream(stage.base() + "/s1/metadata.json") << metadata;
  };
  stage.writer().settle();
  EXPECT_TRUE(has_appended);
  EXPECT_THAT(stage.file("metadata.json"), HasSubstr("\"message_count\": 4"));
}

TEST_F(GoatWriting, ABatchTakesOneWriteAndOneSync) {
  constexpr int kWriters = 64;
  /// Its first sync ends when all writers have begun.
  class CountingDisk final : public Disk {
   public:
    std::atomic<int> begun{0};
    std::atomic<int> syncs{0};
    Result<void> sync(int fd) override {
      ++syncs;
      while (begun < kWriters) {
        std::this_thread::yield();
      }
      return Disk::sync(fd);
    }
  } disk;
  testing::GoatStage stage(disk);
  stage.add("s1", kMessages);
  stage.start();
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&] {
      ++disk.begun;
      EXPECT_TRUE(stage.writer().append_text(stage.session(), {"m", false, ""}));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(lines_of(stage.file("messages.jsonl")).size(), 2U + kWriters);
  EXPECT_LT(disk.syncs, kWriters);
}

}  // namespace
}  // namespace arborfs
