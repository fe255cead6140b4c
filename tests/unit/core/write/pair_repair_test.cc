// Calls of tools without results, and results without calls: which of them the doctor finds, and how they are mended.
#include "core/write/pair_repair.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/doctor/examine.h"
#include "core/formats/registry.h"
#include "core/views/session_facts.h"
#include "tests/support/child.h"
#include "tests/support/said_rows.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::line_of;
using ::testing::StartsWith;

constexpr const char* kId = "11111111-1111-4111-8111-111111111111";
constexpr const char* kCalls = "call_without_result";
constexpr const char* kResults = "result_without_call";

/// What an assistant says with the call `id` in it, and the output of a call, as each agent writes them.
std::string call_of(const std::string& agent, const std::string& id, const std::string& parent) {
  const std::string row = line_of(agent, {"call-" + id, parent, "assistant", "I look"});
  if (agent == "goat") {
    return R"({"uuid":"call-)" + id + R"(","message":{"role":"assistant","content":null,"tool_calls":[{"id":")" + id +
           R"(","type":"function","function":{"name":"read","arguments":"{}"}}]}})"
           "\n";
  }
  if (agent == "codex") {
    return R"({"timestamp":"2026-05-01T10:00:00.000Z","type":"response_item","payload":{"type":"function_call",)"
           R"("name":"read","arguments":"{}","call_id":")" +
           id + "\"}}\n";
  }
  if (agent == "opal") {
    return row.substr(0, row.size() - 2) + R"(,"tool_calls":[{"call_id":")" + id +
           R"(","name":"read","arguments":{}}]})"
           "\n";
  }
  const std::string text = R"({"type":"text","text":"I look"})";
  const std::string block = agent == "claude"
                                ? R"({"type":"tool_use","id":")" + id + R"(","name":"read","input":{}})"
                                : R"({"type":"toolCall","id":")" + id + R"(","name":"read","arguments":{}})";
  std::string line = row;
  return line.replace(line.find(text), text.size(), text + "," + block);
}

std::string output_of(const std::string& agent, const std::string& id, const std::string& parent) {
  if (agent == "goat") {
    return R"({"uuid":"out-)" + id + R"(","message":{"role":"tool","content":"found","tool_call_id":")" + id +
           R"(","name":"read"}})"
           "\n";
  }
  if (agent == "codex") {
    return R"({"timestamp":"2026-05-01T10:00:00.000Z","type":"response_item","payload":{"type":"function_call_output",)"
           R"("call_id":")" +
           id +
           R"(","output":"found"}})"
           "\n";
  }
  if (agent == "opal") {
    return R"({"id":"out-)" + id + R"(","parent_id":")" + parent +
           R"(","role":"tool_result","content":"found","call_id":")" + id + "\"}\n";
  }
  std::string line = line_of(agent, {"out-" + id, parent, "user", "x"});
  const std::string block = R"({"type":"text","text":"x"})";
  if (agent == "claude") {
    return line.replace(line.find(block), block.size(),
                        R"({"type":"tool_result","tool_use_id":")" + id + R"(","content":"found"})");
  }
  const std::string role = R"("role":"user")";
  return line.replace(line.find(role), role.size(),
                      R"("role":"toolResult","toolName":"read","toolCallId":")" + id + "\"");
}

class PairRepairTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string dir() const { return store_.root() + "/agent"; }

  [[nodiscard]] std::string log_of(const std::string& agent) const {
    if (agent == "claude") {
      return dir() + "/projects/-w-p/" + kId + ".jsonl";
    }
    if (agent == "codex") {
      return dir() + "/sessions/2026/05/01/rollout-2026-05-01T10-00-00-" + kId + ".jsonl";
    }
    return agent == "opal"   ? dir() + "/sessions/s1.jsonl"
           : agent == "goat" ? dir() + "/sessions/s1/messages.jsonl"
                             : dir() + "/sessions/--w-p--/2026-05-01T10-00-00-000Z_s1.jsonl";
  }

  /// The session of the agent with these lines.
  SessionPtr open(const std::string& agent, const std::string& lines) {
    writer_.reset();
    catalog_.reset();
    fs::remove_all(dir());
    fs::create_directories(fs::path(log_of(agent)).parent_path());
    if (agent == "goat") {
      std::ofstream(dir() + "/sessions/s1/metadata.json") << R"({"id":"s1","cwd":"/w/p"})";
    }
    std::ofstream(log_of(agent)) << testing::head_of(agent) << lines;
    auto stores = open_stores({{agent, dir(), false}}, Access::write);
    EXPECT_TRUE(stores);
    catalog_ = std::make_unique<Catalog>(std::move(*stores), store_.root(), store_.root() + "/state");
    catalog_->rescan();
    writer_ = make_writer(*catalog_, {});
    const auto view = catalog_->view();
    EXPECT_EQ(view->by_id.size(), 1U) << agent;
    return view->by_id.empty() ? nullptr : view->by_id.front().second;
  }

  std::vector<std::string> kinds(const SessionPtr& session) {
    EXPECT_TRUE(session->refresh(Depth::index));
    std::vector<Finding> found;
    find_in_pairs(*session, *catalog_, found);
    std::vector<std::string> kinds;
    for (const Finding& finding : found) {
      kinds.emplace_back(finding.kind);
    }
    return kinds;
  }

  [[nodiscard]] std::string bytes(const std::string& agent) const {
    std::ifstream in(log_of(agent), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// The only session beside the one that was mended.
  SessionPtr copy_beside(const SessionPtr& source) {
    SessionPtr copy;
    for (const auto& [id, session] : catalog_->view()->by_id) {
      copy = session == source ? copy : session;
    }
    return copy;
  }

  testing::TempStore store_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Writer> writer_;
};

const std::string& ask(const std::string& agent) {
  static std::string line;
  return line = line_of(agent, {"u1", "", "user", "ask"});
}
std::string go_on(const std::string& agent, const std::string& parent) {
  return line_of(agent, {"u2", parent, "user", "go on"});
}

// As the FORMAT.md of each agent says, what it pairs itself when it sends a conversation is no finding.
TEST_F(PairRepairTest, FindsWhatTheAgentDoesNotPairItself) {
  for (const std::string agent : {"claude", "codex", "omp", "pi", "opal", "goat"}) {
    const std::string last = ask(agent) + call_of(agent, "c1", "u1");
    const bool is_goat = agent == "goat";
    EXPECT_EQ(kinds(open(agent, last)), is_goat ? std::vector<std::string>{kCalls} : std::vector<std::string>())
        << agent << ", the last call";
    EXPECT_EQ(kinds(open(agent, last + go_on(agent, "call-c1"))),
              is_goat || agent == "claude" ? std::vector<std::string>{kCalls} : std::vector<std::string>())
        << agent << ", a call that is followed";
    EXPECT_EQ(kinds(open(agent, ask(agent) + output_of(agent, "c1", "u1") + go_on(agent, "out-c1"))),
              is_goat || agent == "pi" ? std::vector<std::string>{kResults} : std::vector<std::string>())
        << agent << ", a result without a call";
    EXPECT_THAT(kinds(open(agent, last + output_of(agent, "c1", "call-c1") + go_on(agent, "out-c1"))), IsEmpty())
        << agent << ", a pair";
  }
}

TEST_F(PairRepairTest, AFindingNamesTheEntryAndTheRepair) {
  const auto session = open("claude", ask("claude") + call_of("claude", "c1", "u1") + go_on("claude", "call-c1"));
  EXPECT_TRUE(session->refresh(Depth::index));
  std::vector<Finding> found;
  find_in_pairs(*session, *catalog_, found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].entry, 2U);
  EXPECT_EQ(found[0].text,
            "entry #2 (call-c1) calls the tool read, and no result follows, which models refuse; arborfs "
            "doctor --repair " +
                std::string(kId) + " mends that");
}

TEST_F(PairRepairTest, TheLastCallsOfALiveSessionMayStillRun) {
  const std::string lines = ask("goat") + call_of("goat", "c1", "u1");
  const auto session = open("goat", lines);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const testing::Child holder([&] {
    const int fd = ::open(log_of("goat").c_str(), O_WRONLY | O_APPEND);
    static_cast<void>(!::write(ready[1], "x", fd < 0 ? 0 : 1));
    ::close(ready[1]);
    ::pause();
  });
  ::close(ready[1]);
  char got = 0;
  ASSERT_EQ(::read(ready[0], &got, 1), 1);
  ::close(ready[0]);
  EXPECT_THAT(kinds(session), IsEmpty());
}

TEST_F(PairRepairTest, TheLastCallsGetAResultWhereTheAgentTakesOne) {
  const std::string lines =
      ask("goat") + call_of("goat", "c1", "u1") + call_of("goat", "c2", "call-c1") + output_of("goat", "c1", "call-c2");
  const auto session = open("goat", lines);
  const auto planned = mend_pairs(*writer_, session, {.copies = false, .dry_run = true});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(bytes("goat"), lines);
  const auto done = mend_pairs(*writer_, session, {.copies = false});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->words, planned->words);
  EXPECT_EQ(done->copy, "");
  EXPECT_THAT(bytes("goat"), StartsWith(lines));
  EXPECT_THAT(bytes("goat").substr(lines.size()), HasSubstr(R"("tool_call_id":"c2")"));
  EXPECT_THAT(kinds(session), IsEmpty());
  EXPECT_EQ(mend_pairs(*writer_, session, {})->words, "") << "nothing is left to mend";
}

TEST_F(PairRepairTest, OtherCallsAndResultsBecomeTextInACopy) {
  for (const std::string agent : {"claude", "pi", "goat"}) {
    const std::string lines = agent == "claude" ? ask(agent) + call_of(agent, "c1", "u1") + go_on(agent, "call-c1")
                                                : ask(agent) + output_of(agent, "c1", "u1") + go_on(agent, "out-c1");
    const auto session = open(agent, lines);
    ASSERT_THAT(kinds(session), ElementsAre(agent == "claude" ? kCalls : kResults));
    const auto before = bytes(agent);
    const auto refused = mend_pairs(*writer_, session, {.copies = false});
    ASSERT_FALSE(refused) << agent;
    EXPECT_EQ(refused.error().code, Errc::unsupported);
    const auto done = mend_pairs(*writer_, session, {});
    ASSERT_TRUE(done) << agent << ": " << done.error().message;
    EXPECT_EQ(bytes(agent), before) << agent;
    const auto copy = copy_beside(session);
    ASSERT_TRUE(copy) << agent;
    EXPECT_EQ(copy->identity().id, done->copy);
    EXPECT_THAT(done->words, HasSubstr(done->copy));
    EXPECT_THAT(kinds(copy), IsEmpty()) << agent;
    EXPECT_TRUE(unpaired_parts(*copy)->empty()) << agent;
  }
}

}  // namespace
}  // namespace arborfs
