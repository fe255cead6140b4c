// Writes by arborfs to Opal's sessions keep every other line, and Opal can read them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "core/formats/opal/format.h"
#include "core/formats/opal/writer.h"
#include "core/store/store_parts.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kHeader = R"({"odd":1.50,"current_id":"b2","session_id":"feed","metadata":{"x":1}})";
const std::string kLines = R"({"id":"b2","parent_id":"a1","role":"assistant","content":"two","is_error":false})"
                           "\n"
                           R"({"id":"a1","parent_id":null, "role":"user","content":"one","is_error":false})"
                           "\n";

class OpalWriting : public ::testing::Test {
 protected:
  OpalWriting() {
    std::filesystem::create_directories(base_ + "/sessions");
    put(kHeader + "\n" + kLines);
  }
  void put(const std::string& bytes) {
    std::ofstream(log(), std::ios::binary) << bytes;
    start(Disk::real());
  }
  void start(Disk& disk, std::chrono::milliseconds patience = opal::Writer::kPatience) {
    writer_.reset();
    catalog_ = std::make_unique<Catalog>(opal::make_store(base_, disk), "/home/nobody", "");
    catalog_->rescan();
    writer_ = std::make_unique<opal::Writer>(*catalog_, WriteSettings(), patience);
  }
  [[nodiscard]] std::string log() const { return base_ + "/sessions/feed.jsonl"; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(log(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::string bytes_of(const std::string& name) const {
    std::ifstream in(base_ + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] SessionPtr session() { return catalog_->at({"sessions", "feed.jsonl"}); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(base_ + "/sessions"), std::filesystem::directory_iterator()));
  }

  testing::TempStore temp_;
  const std::string base_ = temp_.root() + "/opal";
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<opal::Writer> writer_;
};

TEST_F(OpalWriting, AnAppendKeepsEveryOtherLineAndMovesTheLeaf) {
  const auto written = writer_->append_text(session(), {"three \"x\"\n", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "b2");
  EXPECT_EQ(bytes(), R"({"odd":1.50,"current_id":")" + written->id + R"(","session_id":"feed","metadata":{"x":1}})" +
                         "\n" + kLines + R"({"id":")" + written->id +
                         R"(","parent_id":"b2","role":"user","content":"three \"x\"","is_error":false})" + "\n");
  EXPECT_EQ(files(), 1U);
  const auto guard = session()->read();
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard->index().id(guard->leaf()).text, written->id);
}

TEST_F(OpalWriting, AConditionNamesTheRootOfASessionWithoutMessages) {
  put(R"({"current_id":null,"session_id":"feed","metadata":{}})"
      "\n");
  const auto refused = writer_->append_text(session(), {R"({"role":"user","content":"one","ifLeaf":"a1"})", true, ""});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::stale) << refused.error().message;
  const auto done = writer_->append_text(session(), {R"({"role":"user","content":"one","ifLeaf":"root"})", true, ""});
  EXPECT_TRUE(done) << done.error().message;
}

std::string line_with(std::size_t number, char letter) {
  return R"({"id":"m)" + std::to_string(number) + R"(","parent_id":"b2","role":"user","content":")" +
         std::string(1000, letter) + "\"}\n";
}

/// Each look at a young log would otherwise index all of it again, and writers look before each append.
TEST_F(OpalWriting, ALogThatIsYoungAndUnchangedIsIndexedOnce) {
  std::string bytes = kHeader + "\n" + kLines;
  for (std::size_t i = 0; i < 100; ++i) {
    bytes += line_with(i, 'x');
  }
  put(bytes);
  const auto source_of = [&] {
    EXPECT_TRUE(session()->refresh(Depth::index));
    return session()->read()->log();
  };
  // While that is ahead, no look at the log can rely on its time.
  const auto soon = std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1);
  std::filesystem::last_write_time(log(), soon);
  const auto first = source_of();
  EXPECT_EQ(source_of(), first);
  const std::size_t at = bytes.find("xxxx", bytes.size() / 2);
  std::fstream(log(), std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(at)) << "y";
  std::filesystem::last_write_time(log(), soon);
  const auto second = source_of();
  EXPECT_NE(second, first) << "a byte in the middle has changed";
  EXPECT_EQ(source_of(), second);
}

/// A disk that has room for what is written, but not when names are synced.
class FullAtSync : public Disk {
 public:
  Result<void> sync_folder(const Dir& /*folder*/) override { return Error{Errc::no_space, "no space"}; }
};

/// "No space" would make the caller write the same again.
TEST_F(OpalWriting, AnAppendThatIsNotSyncedSaysThatItIsThere) {
  FullAtSync disk;
  start(disk);
  const auto written = writer_->append_text(session(), {"three", false, ""});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::io);
  EXPECT_THAT(written.error().message, HasSubstr("check the end of the log"));
  EXPECT_THAT(bytes(), HasSubstr("three"));
  start(Disk::real());
}

TEST_F(OpalWriting, ANewSessionThatIsNotSyncedSaysThatItIsThere) {
  class FullAtFolderSync final : public Disk {
   public:
    Result<void> sync_folder(const Dir& /*folder*/) override { return Error{Errc::no_space, "no space"}; }
  } disk;
  start(disk);
  const auto made = writer_->fork(session());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::io);
  EXPECT_EQ(files(), 2U);
  EXPECT_THAT(made.error().message, HasSubstr(" is there, but may not survive a power cut"));
}

TEST_F(OpalWriting, SeveralMessagesAreWrittenTogetherOrNotAtAll) {
  const auto refused =
      writer_->append_text(session(), {R"({"role":"user","content":"x"}{"role":"bot","content":"y"})", true, ""});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("object 2: role"));
  EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
  const auto written = writer_->append_text(
      session(), {R"({"role":"user","content":"x"}{"role":"assistant","thinking":"t"})", true, "a1"});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "a1");
  EXPECT_THAT(bytes(), HasSubstr(R"("role":"assistant","thinking":"t","content":null,"is_error":false})"));
}

/// Opal's JSON library refuses it, so Opal would start with an empty session and save that.
TEST_F(OpalWriting, HalfOfASurrogatePairIsRefused) {
  for (const std::string member :
       {R"("content":"\ud800")", R"("content":"x\udc00\ud800")",
        R"("content":"","tool_calls":[{"call_id":"c","name":"n","arguments":{"\uD8FF":1}}])"}) {
    const auto refused = writer_->append_text(session(), {R"({"role":"user",)" + member + "}", true, ""});
    ASSERT_FALSE(refused) << member;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  }
  EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
  EXPECT_TRUE(
      writer_->append_text(session(), {R"({"role":"user","content":"\\ud800 \ud83d\ude00 \u0001"})", true, ""}));
}

TEST_F(OpalWriting, ABranchMovesTheLeafWithASummaryIfWanted) {
  const auto moved = writer_->branch(session(), "#1");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->leaf, "a1");
  EXPECT_THAT(bytes(), HasSubstr(R"("current_id":"a1")"));
  const auto back = writer_->branch(session(), "#2", "Tried it");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->leaf, back->summary_id);
  EXPECT_THAT(bytes(), HasSubstr("<branch-summary>\\nTried it\\n</branch-summary>"));
  EXPECT_THAT(bytes(), HasSubstr(R"("metadata":{"type":"branch_summary","from_leaf":"a1"}})"));
  EXPECT_EQ(writer_->branch(session(), "nope").error().code, Errc::not_found);
}

TEST_F(OpalWriting, ABranchDoesNotEndBetweenAToolCallAndItsResult) {
  const auto call = writer_->append_text(
      session(), {R"({"role":"assistant","tool_calls":[{"call_id":"c1","name":"n","arguments":{}},)"
                  R"({"call_id":"c2","name":"n","arguments":{}}]})",
                  true, ""});
  const auto one =
      writer_->append_text(session(), {R"({"role":"tool_result","call_id":"c1","content":"1"})", true, ""});
  const auto both =
      writer_->append_text(session(), {R"({"role":"tool_result","call_id":"c2","content":"2"})", true, ""});
  ASSERT_TRUE(call && one && both);
  EXPECT_EQ(writer_->branch(session(), call->id).error().code, Errc::invalid_argument);
  EXPECT_EQ(writer_->branch(session(), one->id).error().code, Errc::invalid_argument);
  EXPECT_TRUE(writer_->branch(session(), both->id));
  EXPECT_TRUE(writer_->branch(session(), "b2"));
  EXPECT_TRUE(writer_->branch(session(), call->id, "", true)) << "forced";
}

/// The result of a replacement, in the notation of opal/FORMAT.md C5: SUM is the new message.
struct Outcome {
  std::string parent;                 // of SUM
  std::vector<std::string> path;      // to the leaf
  std::vector<std::string> dangling;  // messages with a parent that does not exist
  bool operator==(const Outcome&) const = default;
};

class OpalReplacing : public OpalWriting {
 protected:
  OpalReplacing() {
    const std::pair<const char*, const char*> kTree[] = {{"mmm5", "mmm4"}, {"mmm6", "mmm5"}, {"sss1", "mmm2"},
                                                         {"mmm3", "mmm2"}, {"mmm1", ""},     {"mmm4", "mmm3"},
                                                         {"sss2", "mmm4"}, {"mmm2", "mmm1"}};
    std::string text = R"({"current_id":"mmm6","metadata":{},"session_id":"feed"})"
                       "\n";
    for (const auto& [id, parent] : kTree) {
      const std::string spelled = *parent == '\0' ? "null" : "\"" + std::string(parent) + "\"";
      lines_[id] = R"({"id":")" + std::string(id) + R"(", "parent_id":)" + spelled +
                   R"(,"role":"user","content":"x\u00e9","is_error":false})";
      text += lines_[id] + "\n";
    }
    put(text);
  }
  [[nodiscard]] Outcome outcome(const std::string& sum) {
    const auto guard = session()->read();
    EXPECT_TRUE(guard);
    const LogIndex& index = guard->index();
    const auto name = [&](const EntryId& id) { return id.text == sum ? "SUM" : id.text; };
    Outcome found;
    for (Ordinal at = guard->leaf(); at != kNoEntry; at = index.parent(at)) {
      found.path.insert(found.path.begin(), name(index.id(at)));
    }
    for (Ordinal at = 1; at <= index.size(); ++at) {
      if (index.is_orphan(at)) {
        found.dangling.push_back(name(index.id(at)));
      }
      if (index.id(at).text == sum) {
        found.parent = index.parent_id(at).text;
      }
    }
    return found;
  }
  /// All lines but those of `changed` are as they were.
  void expect_kept(const std::vector<std::string>& changed) {
    const std::string now = bytes();
    for (const auto& [id, line] : lines_) {
      const bool is_changed = std::find(changed.begin(), changed.end(), id) != changed.end();
      EXPECT_EQ(now.find("\n" + line + "\n") == std::string::npos, is_changed) << id;
    }
  }
  std::map<std::string, std::string> lines_;
};

const std::string kSum =
    R"({"role":"user","content":"[Conversation summary]","metadata":{"type":"compaction_summary","read_files":[],)"
    R"("modified_files":[]}})";

TEST_F(OpalReplacing, TheFirstMessagesLeaveASideBranchWithoutItsParent) {
  const auto written = writer_->replace(session(), {"mmm1", "mmm4", {kSum}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "");
  EXPECT_EQ(outcome(written->id), (Outcome{"null", {"SUM", "mmm5", "mmm6"}, {"sss1"}}));
  expect_kept({"mmm1", "mmm2", "mmm3", "mmm4", "mmm5", "sss2"});
  EXPECT_THAT(bytes(), HasSubstr(R"({"id":"mmm5", "parent_id":")" + written->id + R"(","role")"));
  EXPECT_THAT(bytes(), HasSubstr(R"({"id":"sss2", "parent_id":")" + written->id + R"(","role")"));
  EXPECT_THAT(bytes(), Not(HasSubstr("\n\n")));
}

TEST_F(OpalReplacing, ChildrenOfTheLastMessageBecomeThoseOfTheNewOne) {
  const auto written = writer_->replace(session(), {"mmm3", "mmm4", {kSum}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(outcome(written->id), (Outcome{"mmm2", {"mmm1", "mmm2", "SUM", "mmm5", "mmm6"}, {}}));
  expect_kept({"mmm3", "mmm4", "mmm5", "sss2"});
}

TEST_F(OpalReplacing, TheLeafMovesIfItIsReplaced) {
  const auto written = writer_->replace(session(), {"mmm5", "mmm6", {kSum}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(outcome(written->id), (Outcome{"mmm4", {"mmm1", "mmm2", "mmm3", "mmm4", "SUM"}, {}}));
  EXPECT_THAT(bytes(), HasSubstr(R"("current_id":")" + written->id));
}

TEST_F(OpalReplacing, SeveralMessagesOrNoneTakeThePlaceOfARun) {
  const auto written =
      writer_->replace(session(), {"mmm3", "mmm3", {R"({"role":"user","content":"a"})", R"({"role":"assistant"})"}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(outcome(written->id).path.size(), 7U);
  const auto removed = writer_->replace(session(), {"mmm5", "mmm6", {}});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->id, "");
  EXPECT_EQ(outcome("").path.back(), "mmm4");
  const auto first = writer_->replace(session(), {"mmm1", "mmm1", {}});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(outcome("").path.front(), "mmm2");
  EXPECT_THAT(outcome("").dangling, ElementsAre());
  EXPECT_THAT(bytes(), HasSubstr(R"({"id":"mmm2", "parent_id":null,)"));
}

/// Opal itself would leave messages without a parent, or a loop of parents (opal/FORMAT.md C5).
TEST_F(OpalReplacing, RunsThatAreNotOnThePathAreRefused) {
  const std::string before = bytes();
  EXPECT_EQ(writer_->replace(session(), {"mmm4", "mmm3", {kSum}}).error().code, Errc::invalid_argument);
  EXPECT_EQ(writer_->replace(session(), {"sss1", "sss1", {kSum}}).error().code, Errc::invalid_argument);
  EXPECT_EQ(writer_->replace(session(), {"xxx1", "mmm2", {kSum}}).error().code, Errc::not_found);
  EXPECT_EQ(writer_->replace(session(), {"mmm1", "xxx9", {kSum}}).error().code, Errc::not_found);
  EXPECT_EQ(writer_->replace(session(), {"mmm1", "mmm2", {R"({"role":"user","id":"mmm2"})"}}).error().code,
            Errc::invalid_argument);
  EXPECT_EQ(writer_->replace(session(), {"mmm1", "mmm2", {R"({"role":"bot"})"}}).error().code, Errc::invalid_argument);
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(files(), 1U);
}

TEST_F(OpalReplacing, EarlierLinesOfARemovedMessageDoNotComeBack) {
  std::string text = bytes();
  text.insert(text.find('\n') + 1, lines_["mmm3"] + "\n" + lines_["sss1"] + "\n");
  put(text);
  const auto written = writer_->replace(session(), {"mmm3", "mmm3", {kSum}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(bytes().find(R"("id":"mmm3")"), std::string::npos);
  EXPECT_THAT(bytes(), HasSubstr(lines_["sss1"] + "\n"));
  EXPECT_EQ(outcome(written->id).path.size(), 6U);
}

TEST_F(OpalWriting, AReplacementKeepsToolCallsWithTheirResults) {
  const auto call = writer_->append_text(
      session(), {R"({"role":"assistant","tool_calls":[{"call_id":"c1","name":"n","arguments":{}}]})", true, ""});
  const auto result =
      writer_->append_text(session(), {R"({"role":"tool_result","call_id":"c1","content":"1"})", true, ""});
  const auto next = writer_->append_text(session(), {"go on", false, ""});
  ASSERT_TRUE(call && result && next);
  const auto replaced = [&](const std::string& first, const std::string& last, const std::string& by,
                            bool force = false) {
    return writer_->replace(session(), {first, last, {by}}, force);
  };
  const std::string user = R"({"role":"user","content":"x"})";
  EXPECT_EQ(replaced(call->id, call->id, user).error().code, Errc::invalid_argument) << "a result without its call";
  EXPECT_EQ(replaced(result->id, result->id, user).error().code, Errc::invalid_argument) << "a call without result";
  const auto other = replaced(result->id, result->id, R"({"role":"tool_result","call_id":"c1","content":"2"})");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(replaced(call->id, other->id, user)) << "both";
  EXPECT_TRUE(replaced("b2", "b2", R"({"role":"tool_result","call_id":"c9"})", true)) << "forced";
}

TEST_F(OpalWriting, AReplacementHoldsItsCondition) {
  const auto stale = writer_->replace(session(), {"b2", "b2", {R"({"role":"assistant","content":"x","ifLeaf":"a1"})"}});
  EXPECT_EQ(stale.error().code, Errc::stale);
  EXPECT_TRUE(writer_->replace(session(), {"b2", "b2", {R"({"role":"assistant","content":"x","ifLeaf":"b2"})"}}));
}

TEST_F(OpalWriting, ReplacementsAndAppendsOfManyThreadsAreAllThere) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] { EXPECT_TRUE(writer_->append_text(session(), {"m", false, ""})); });
    threads.emplace_back([this] {
      EXPECT_TRUE(writer_->replace(session(), {"#1", "#1", {R"({"role":"user","content":"first"})"}}));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto guard = session()->read();
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard->index().size(), 10U);
  EXPECT_EQ(guard->index().tip_count(), 1U);
}

TEST_F(OpalWriting, AForkHasAllLinesAndAnIdOfItsOwn) {
  const auto made = writer_->fork(session(), "", false, std::string());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->id, ::testing::MatchesRegex("[0-9a-f]{32}"));
  const std::string copy = bytes_of("/sessions/" + made->id + ".jsonl");
  EXPECT_EQ(copy,
            R"({"odd":1.50,"current_id":"b2","session_id":")" + made->id + R"(","metadata":{"x":1}})" + "\n" + kLines);
  EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
  ASSERT_TRUE(writer_->set_title(session(), "Old"));
  const auto again = writer_->fork(session(), "", false, std::string());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->session->title(), "Old (fork)");
  const auto named = writer_->fork(again->session, "", false, std::string("Own"));
  ASSERT_TRUE(named);
  EXPECT_EQ(named->session->title(), "Own");
  EXPECT_EQ(writer_->fork(named->session, "", false, std::nullopt)->session->title(), "Own");
}

TEST_F(OpalWriting, AForkOfAPathEndsAtItsEntry) {
  const auto made = writer_->fork(session(), "#1", false, std::string("One"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(bytes_of("/sessions/" + made->id + ".jsonl"), R"({"odd":1.50,"current_id":"a1","session_id":")" + made->id +
                                                              R"(","metadata":{"x":1,"title":"One"}})" + "\n" +
                                                              kLines.substr(kLines.find('\n') + 1));
  EXPECT_EQ(writer_->fork(session(), "nope").error().code, Errc::not_found);
}

/// With such a line Opal would not load the fork.
TEST_F(OpalWriting, AForkLeavesDamageOut) {
  put(kHeader + "\n{\"id\":\n" + kLines.substr(0, kLines.size() - 1));
  const auto made = writer_->fork(session());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(bytes_of("/sessions/" + made->id + ".jsonl"), ::testing::EndsWith("}\n" + kLines));
  EXPECT_TRUE(writer_->append_text(made->session, {"x", false, ""}));
}

TEST_F(OpalWriting, ANewSessionTakesMessages) {
  NewSession wanted;
  wanted.title = " New\nsession";
  const auto made = writer_->create(wanted);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(bytes_of("/sessions/" + made->id + ".jsonl"),
            R"({"current_id":null,"metadata":{"title":"New session"},"session_id":")" + made->id + "\"}\n");
  const auto written = writer_->append_text(made->session, {"one", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "");
  wanted.parent_session = "feed";
  EXPECT_EQ(writer_->create(wanted).error().code, Errc::not_permitted);
}

TEST_F(OpalWriting, ANewSessionMakesTheFolderOfSessions) {
  std::filesystem::remove_all(base_ + "/sessions");
  start(Disk::real());
  const auto made = writer_->create({});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(files(), 1U);
  std::filesystem::remove_all(base_);
  start(Disk::real());
  EXPECT_EQ(writer_->create({}).error().code, Errc::not_found);
}

/// opal/FORMAT.md E1 and E2, one row per start.
TEST_F(OpalWriting, TheStartSaysItsModelItsProviderAndWhy) {
  const auto started = [&](const std::string& settings, const NewSession& wanted) {
    std::ofstream(base_ + "/settings.json") << settings;
    const auto made = writer_->create(wanted);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return opal::format().startup_json(made->session->store(), made->session->head().header);
  };
  const auto text = [](const char* provider, const char* id, const char* why, const char* name, const char* why_name,
                       const std::string& options = "") {
    return R"({"model":{"provider":")" + std::string(provider) + R"(","id":")" + id + R"(","why":")" + why +
           R"("},"provider":{"name":")" + name + R"(","why":")" + why_name + "\"}" + options + "}\n";
  };
  NewSession plain;
  NewSession of_model;
  of_model.model = "openai/gpt-4o";
  const std::string option = R"(,"options":{"model":"openai:gpt-4o"})";
  const std::string by_default = text("copilot", "claude-sonnet-4", "default", "Copilot", "derived");
  std::filesystem::remove(base_ + "/settings.json");
  EXPECT_EQ(started("{}", plain), by_default);
  EXPECT_EQ(started(R"({"default_model":""})", plain), by_default);
  EXPECT_EQ(started(R"({"default_model":5})", plain), by_default);
  EXPECT_EQ(started("{\"default", plain), by_default);
  EXPECT_EQ(started(R"({"default_model":"anthropic:x"})", plain),
            text("anthropic", "x", "saved setting", "LLM", "derived"));
  EXPECT_EQ(started(R"({"default_model":"gpt-5"})", plain),
            text("copilot", "gpt-5", "saved setting", "Copilot", "derived"));
  EXPECT_EQ(started(R"({"default_model":"copilot:gpt-5"})", plain),
            text("copilot", "gpt-5", "saved setting", "Copilot", "derived"));
  EXPECT_EQ(started(R"({"default_model":"openrouter:a:b"})", plain),
            text("openrouter", "a:b", "saved setting", "LLM", "derived"));
  EXPECT_EQ(started(R"({"default_model":"gpt-5"})", of_model),
            text("openai", "gpt-4o", "explicit", "LLM", "derived", option));
  NewSession of_provider;
  of_provider.provider = "MyApp.Provider";
  EXPECT_EQ(started("{}", of_provider), text("copilot", "claude-sonnet-4", "default", "MyApp.Provider", "explicit",
                                             R"(,"options":{"provider":"MyApp.Provider"})"));
  of_model.model = "openrouter:a/b";
  EXPECT_THAT(started("{}", of_model), HasSubstr(R"({"provider":"openrouter","id":"a/b","why":"explicit"})"));
  of_model.model = "gpt-5";
  EXPECT_THAT(started("{}", of_model), HasSubstr(R"("options":{"model":"copilot:gpt-5"})"));
  for (const char* wrong : {":x", "openai:", "openai/", "/"}) {
    of_model.model = wrong;
    EXPECT_EQ(writer_->create(of_model).error().code, Errc::invalid_argument) << wrong;
  }
}

TEST_F(OpalWriting, FilesThatAKilledWriterLeftGoAndOthersStay) {
  const auto make = [&](const std::string& name) { std::ofstream(base_ + "/sessions/" + name) << "x"; };
  make(".arborfs-0123456789abcdef.tmp");
  make(".arborfs-held.tmp");
  make(".other.tmp");
  const UniqueFd held(::open((base_ + "/sessions/.arborfs-held.tmp").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  EXPECT_EQ(faults_of(session()->store()).size(), 1U);
  writer_->take_back_parts();
  EXPECT_EQ(files(), 3U);
  EXPECT_FALSE(std::filesystem::exists(base_ + "/sessions/.arborfs-0123456789abcdef.tmp"));
  EXPECT_TRUE(faults_of(session()->store()).empty());
}

TEST_F(OpalWriting, ATitleGoesIntoTheMetadata) {
  ASSERT_TRUE(writer_->set_title(session(), "New\ntitle"));
  EXPECT_THAT(bytes(), HasSubstr(R"("metadata":{"x":1,"title":"New title"}})"));
}

TEST_F(OpalWriting, ADamagedLogIsNotWritten) {
  put(kHeader + "\n" + kLines + "{\"id\":\n");
  const std::string before = bytes();
  EXPECT_EQ(writer_->append_text(session(), {"x", false, ""}).error().code, Errc::read_only);
  EXPECT_EQ(bytes(), before);
}

/// Another program saves the session while arborfs writes its new file.
class BusyDisk final : public Disk {
 public:
  explicit BusyDisk(std::string log) : log_(std::move(log)) {}
  Result<void> sync(int fd) override {
    std::ofstream(log_, std::ios::app) << "{\"id\":\"c3\",\"parent_id\":\"b2\",\"role\":\"user\",\"content\":\"x\"}\n";
    return Disk::sync(fd);
  }

 private:
  const std::string log_;
};

TEST_F(OpalWriting, AnotherProgramsSaveIsNeverReplaced) {
  BusyDisk disk(log());
  start(disk, std::chrono::milliseconds(50));
  EXPECT_EQ(writer_->append_text(session(), {"mine", false, ""}).error().code, Errc::stale);
  EXPECT_THAT(bytes(), StartsWith(kHeader + "\n" + kLines + R"({"id":"c3")"));
  EXPECT_EQ(files(), 1U);
}

/// Another program saves the session when all checks before the new file's naming are done.
class BusyAtNaming final : public Disk {
 public:
  explicit BusyAtNaming(std::string log) : log_(std::move(log)) {}
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    save();
    return Disk::exchange(folder, name, other);
  }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    save();
    return Disk::rename(from, name, to, new_name, existing);
  }

 private:
  void save() {
    if (!std::exchange(is_saved_, true)) {
      std::ofstream(log_, std::ios::app)
          << "{\"id\":\"c3\",\"parent_id\":\"b2\",\"role\":\"user\",\"content\":\"x\"}\n";
    }
  }
  const std::string log_;
  bool is_saved_ = false;
};

TEST_F(OpalWriting, ASaveWhileTheNewFileGetsItsNameIsKept) {
  BusyAtNaming disk(log());
  start(disk, std::chrono::milliseconds(0));
  EXPECT_EQ(writer_->append_text(session(), {"mine", false, ""}).error().code, Errc::stale);
  EXPECT_THAT(bytes(), StartsWith(kHeader + "\n" + kLines + R"({"id":"c3")"));
  EXPECT_EQ(files(), 1U);
  ASSERT_TRUE(writer_->append_text(session(), {"mine", false, ""}));
  EXPECT_EQ(session()->read()->index().size(), 4U);
}

TEST_F(OpalWriting, AChangeIsMadeAgainAfterAnotherProgramsSave) {
  BusyAtNaming disk(log());
  start(disk);
  const auto written = writer_->append_text(session(), {"mine", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "b2");
  EXPECT_EQ(session()->read()->index().size(), 4U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(OpalWriting, AppendsOfTwoProgramsAreAllThere) {
  Catalog other_catalog(opal::make_store(base_, Disk::real()), "/home/nobody", "");
  other_catalog.rescan();
  opal::Writer other(other_catalog, WriteSettings(), std::chrono::minutes(2));
  start(Disk::real(), std::chrono::minutes(2));
  const auto append = [](opal::Writer& writer, const SessionPtr& to) {
    for (int i = 0; i < 20; ++i) {
      const auto done = writer.append_text(to, {"m", false, ""});
      EXPECT_TRUE(done) << done.error().message;
    }
  };
  std::thread beside([&] { append(other, other_catalog.at({"sessions", "feed.jsonl"})); });
  append(*writer_, session());
  beside.join();
  ASSERT_TRUE(session()->refresh(Depth::index));
  EXPECT_EQ(session()->read()->index().size(), 42U);
  EXPECT_EQ(session()->read()->index().tip_count(), 1U);
}

TEST_F(OpalWriting, ALogThatAnotherArborfsReplacesIsNotReplaced) {
  start(Disk::real(), std::chrono::milliseconds(50));
  const UniqueFd other(::open(log().c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_EQ(writer_->append_text(session(), {"mine", false, ""}).error().code, Errc::stale);
  EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
  EXPECT_EQ(files(), 1U);
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  EXPECT_TRUE(writer_->append_text(session(), {"mine", false, ""}));
}

/// The log is removed right after it was written.
class GoneDisk final : public Disk {
 public:
  explicit GoneDisk(std::string log) : log_(std::move(log)) {}
  Result<void> sync_folder(const Dir& folder) override {
    std::filesystem::remove(log_);
    return Disk::sync_folder(folder);
  }

 private:
  const std::string log_;
};

TEST_F(OpalWriting, AnErrorAfterTheWriteSaysThatItWasWritten) {
  GoneDisk disk(log());
  start(disk);
  const auto written = writer_->append_text(session(), {"mine", false, ""});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::io);
  EXPECT_THAT(written.error().message, StartsWith("it was written, but"));
}

/// Fails the call with a number, and counts the calls.
class FailingDisk final : public Disk {
 public:
  int fails = 0;
  int calls = 0;
  Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode) override {
    return is_next() ? Result<UniqueFd>(failure()) : Disk::create(folder, name, mode);
  }
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    return is_next() ? Result<std::size_t>(failure()) : Disk::write(fd, bytes);
  }
  Result<void> set_mode(int fd, mode_t mode) override { return is_next() ? failure() : Disk::set_mode(fd, mode); }
  Result<void> sync(int fd) override { return is_next() ? failure() : Disk::sync(fd); }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    return is_next() ? failure() : Disk::rename(from, name, to, new_name, existing);
  }
  Result<void> exchange(const Dir& folder, const std::string& name, const std::string& other) override {
    return is_next() ? failure() : Disk::exchange(folder, name, other);
  }

 private:
  bool is_next() { return ++calls == fails; }
  static Error failure() { return {Errc::no_space, "the disk is full"}; }
};

TEST_F(OpalWriting, AFailingCallLeavesTheLogAsItWas) {
  FailingDisk disk;
  start(disk);
  for (disk.fails = 1;; ++disk.fails) {
    disk.calls = 0;
    const auto written = writer_->append_text(session(), {"x", false, ""});
    if (written) {
      break;
    }
    EXPECT_EQ(written.error().code, Errc::no_space);
    EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_GT(disk.fails, 5);
}

TEST_F(OpalWriting, AppendsOfManyThreadsAreAllThereOneAfterTheOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([this] { EXPECT_TRUE(writer_->append_text(session(), {"m", false, ""})); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto guard = session()->read();
  ASSERT_TRUE(guard);
  std::size_t depth = 0;
  for (Ordinal at = guard->leaf(); at != kNoEntry; at = guard->index().parent(at)) {
    ++depth;
  }
  EXPECT_EQ(depth, 18U);
}

}  // namespace
}  // namespace arborfs
