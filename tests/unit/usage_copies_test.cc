// A number is taken once, and from the right record: in generated stores of each agent that records usage, a copy of
// any rows, added anywhere, changes no sum (claude/FORMAT.md E1, codex/FORMAT.md F4).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/number_format.h"
#include "core/json/document.h"
#include "tests/support/sanitized.h"
#include "tests/support/store_totals.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using stats::By;
using testing::StoreOfLines;

constexpr int kStores = 1000 / arborfs::testing::kSanitizedShare;

/// What a store must sum up to.
struct Expected {
  std::uint64_t messages = 0;
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cost = 0;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(engine_); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  auto& of(List& list) {
    return *std::next(list.begin(), static_cast<std::ptrdiff_t>(below(list.size())));
  }

 private:
  std::mt19937 engine_;
};

std::string uuid(unsigned number) {
  std::string digits = std::to_string(number);
  return std::string(8 - digits.size(), '0') + digits + "-0000-7000-8000-000000000000";
}

std::string time_text(unsigned second) {
  const auto two = [](unsigned n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return "2026-05-01T" + two(second / 3600 % 24) + ":" + two(second / 60 % 60) + ":" + two(second % 60) + ".000Z";
}

void insert_anywhere(StoreOfLines::Lines& lines, const std::string& row, std::size_t from, Random& random) {
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(from + random.below(lines.size() - from + 1)), row);
}

void expect_sums(const stats::Stats& found, const Expected& expected) {
  const auto check = [&](const std::string& what, std::uint64_t messages, const Usage& usage) {
    EXPECT_EQ(messages, expected.messages) << what;
    EXPECT_EQ(usage.input, expected.input) << what;
    EXPECT_EQ(usage.output, expected.output) << what;
    EXPECT_EQ(usage.cache_read, expected.cache_read) << what;
    EXPECT_NEAR(std::isnan(usage.cost) ? 0 : usage.cost, expected.cost, 1e-9) << what;
  };
  check("total", found.total().messages, found.total().usage);
  for (const By by : {By::day, By::project, By::model, By::agent, By::session}) {
    stats::Row sum;
    for (const stats::Row& row : found.rows(by)) {
      EXPECT_NE(row.name, "<synthetic>");
      sum.messages += row.messages;
      add_usage(sum.usage, row.usage);
    }
    check(std::string(stats::kByNames.at(static_cast<std::size_t>(by))), sum.messages, sum.usage);
  }
}

/// Transcripts of Claude Code: several rows for one reply, whose output grows.
class ClaudeStore {
 public:
  ClaudeStore(StoreOfLines& store, Random& random) : store_(store), random_(random) {
    for (unsigned session = 1; session <= 3; ++session) {
      auto& lines = store.files["projects/-w-p/" + uuid(session) + ".jsonl"];
      for (unsigned reply = 0; reply < 3; ++reply) {
        add_reply(session, reply, lines);
      }
    }
  }
  const Expected& expected() const { return expected_; }

  /// Copies rows anywhere, also to a session that goes on with an earlier one.
  void copy_rows() {
    for (std::size_t copies = 1 + random_.below(6); copies > 0; --copies) {
      const auto& from = random_.of(store_.files).second;
      const std::string row = from.at(random_.below(from.size()));
      insert_anywhere(random_.of(store_.files).second, row, 0, random_);
    }
    const auto resumed = store_.files.begin()->second;
    store_.files["projects/-w-p/" + uuid(9) + ".jsonl"] = resumed;
  }

 private:
  void add_reply(unsigned session, unsigned reply, StoreOfLines::Lines& lines) {
    const unsigned number = session * 10 + reply;
    const bool has_request = !random_.one_in(3);
    const bool is_old = random_.one_in(4);
    const std::size_t rows = 1 + random_.below(3);
    double output = 0;
    const double input = random_.one_in(4) ? 0 : static_cast<double>(1 + random_.below(900));
    for (std::size_t row = 0; row < rows; ++row) {
      output += static_cast<double>(random_.below(50));
      std::string usage = R"("input_tokens":)" + json::number_text(row == 0 && rows > 1 ? 0 : input);
      usage += R"(,"output_tokens":)" + json::number_text(output) + R"(,"cache_read_input_tokens":7)";
      std::string line = R"({"type":"assistant","uuid":")" + uuid(number * 10 + static_cast<unsigned>(row));
      line += R"(","parentUuid":null,"isSidechain":)" + std::string(random_.one_in(5) ? "true" : "false");
      line += R"(,"sessionId":")" + uuid(session) + R"(","cwd":"/w/p","timestamp":")" + time_text(number * 60);
      line += R"(","message":{"id":"msg_)" + std::to_string(number) + R"(","role":"assistant","model":"claude-m",)";
      line += R"("content":[{"type":"text","text":"x"}],"usage":{)" + usage + "}}";
      // The same reply may stand under two request ids.
      line += has_request ? R"(,"requestId":"req_)" + std::to_string(row / 2) + "\"" : "";
      lines.push_back(line + (is_old ? R"(,"costUSD":0.25})" : "}"));
    }
    lines.push_back(R"({"type":"assistant","uuid":")" + uuid(number * 10 + 9) +
                    R"(","parentUuid":null,"isSidechain":false,"sessionId":")" + uuid(session) +
                    R"(","cwd":"/w/p","timestamp":")" + time_text(number * 60) +
                    R"(","isApiErrorMessage":true,"message":{"id":"error-)" + std::to_string(number) +
                    R"(","role":"assistant","model":"<synthetic>","content":[],"usage":{"input_tokens":0,)"
                    R"("output_tokens":0}}})");
    ++expected_.messages;
    expected_.input += input;
    expected_.output += output;
    expected_.cache_read += 7;
    expected_.cost += is_old ? 0.25 : 0;
  }

  StoreOfLines& store_;
  Random& random_;
  Expected expected_;
};

TEST(UsageCopies, OfClaudeCodeCountOnce) {
  const testing::TempStore scratch;
  for (unsigned seed = 0; seed < kStores && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    StoreOfLines store("claude", scratch.root() + "/claude");
    ClaudeStore made(store, random);
    made.copy_rows();
    store.write();
    expect_sums(store.sums(), made.expected());
    ASSERT_FALSE(HasFailure()) << "store " << seed;
  }
}

/// Threads of Codex: forks and sub-agents begin with copies of the records of their source, with new times.
class CodexStore {
 public:
  CodexStore(StoreOfLines& store, Random& random) : store_(store), random_(random), has_last_(!random.one_in(4)) {
    add_thread(1, 0);
    for (unsigned thread = 2; thread <= 4; ++thread) {
      add_thread(thread, 1 + static_cast<unsigned>(random.below(thread - 1)));
    }
    for (const Thread& thread : threads_) {
      store.files[thread.path] = thread.lines;
    }
  }
  const Expected& expected() const { return expected_; }
  /// usage.json of each thread, by id: what it spent itself.
  const std::map<std::string, std::string>& usages() const { return usages_; }

  void copy_rows() {
    for (std::size_t copies = 1 + random_.below(6); copies > 0; --copies) {
      auto& lines = random_.of(store_.files).second;
      const std::string row = lines.at(1 + random_.below(lines.size() - 1));
      insert_anywhere(lines, row, 1, random_);
    }
  }

 private:
  struct Thread {
    std::string path;
    StoreOfLines::Lines lines;
    double input = 0;  // the running sums
    double cached = 0;
    double output = 0;
  };

  static std::string record(unsigned second, const std::string& type, const std::string& payload) {
    return R"({"timestamp":")" + time_text(second) + R"(","type":")" + type + R"(","payload":)" + payload + "}";
  }

  void add_thread(unsigned number, unsigned source) {
    Thread thread;
    thread.path = "sessions/2026/05/01/rollout-2026-05-01T10-00-00-" + uuid(number) + ".jsonl";
    const bool is_sub_agent = random_.one_in(2);
    std::string meta =
        R"({"id":")" + uuid(number) + R"(","timestamp":")" + time_text(number * 100) + R"(","cwd":"/w/p")";
    if (source != 0 && is_sub_agent) {
      meta += R"(,"source":{"subagent":{"thread_spawn":{"parent_thread_id":")" + uuid(source) + R"(","depth":1}}}})";
    } else {
      meta += source == 0 ? "}" : R"(,"forked_from_id":")" + uuid(source) + "\"}";
    }
    thread.lines.push_back(record(number * 100, "session_meta", meta));
    if (source != 0) {
      copy_history(threads_.at(source - 1), number, thread);
    }
    const Thread before = thread;
    for (std::size_t turn = 1 + random_.below(2); turn > 0; --turn) {
      add_turn(number, thread);
    }
    const double input = thread.input - before.input;
    const double cached = thread.cached - before.cached;
    const double output = thread.output - before.output;
    usages_[uuid(number)] = UsageText()
                                .add("input", input - cached)
                                .add("output", output)
                                .add("reasoning", 0)
                                .add("cacheRead", cached)
                                .add("totalTokens", input + output)
                                .text();
    threads_.push_back(std::move(thread));
  }

  /// The records of the source, its session_meta too, each with the time of the copy.
  static void copy_history(const Thread& source, unsigned number, Thread& thread) {
    const std::size_t time = std::string_view(R"({"timestamp":")").size();
    for (std::string line : source.lines) {
      thread.lines.push_back(line.replace(time, time_text(0).size(), time_text(number * 100 + 1)));
    }
    thread.input = source.input;
    thread.cached = source.cached;
    thread.output = source.output;
  }

  void add_turn(unsigned number, Thread& thread) {
    const unsigned at = number * 100 + 10 + static_cast<unsigned>(thread.lines.size());
    const double cached = static_cast<double>(random_.below(500));
    const double input = cached + static_cast<double>(1 + random_.below(500));
    const double output = static_cast<double>(1 + random_.below(90));
    thread.input += input;
    thread.cached += cached;
    thread.output += output;
    thread.lines.push_back(record(at, "turn_context", R"({"cwd":"/w/p","model":"gpt-x"})"));
    thread.lines.push_back(record(at, "response_item",
                                  R"({"type":"message","role":"user","content":[{"type":"input_text","text":"turn )" +
                                      std::to_string(at) + R"("}]})"));
    const std::string sums = usage_text(thread.input, thread.cached, thread.output);
    const std::string last = has_last_ ? R"("last_token_usage":)" + usage_text(input, cached, output) + "," : "";
    const std::string event = R"({"type":"token_count","info":{)" + last + R"("total_token_usage":)" + sums + "}}";
    for (std::size_t repeated = 1 + random_.below(2); repeated > 0; --repeated) {
      thread.lines.push_back(record(at + 1, "event_msg", event));
    }
    ++expected_.messages;
    expected_.input += input - cached;
    expected_.cache_read += cached;
    expected_.output += output;
  }

  static std::string usage_text(double input, double cached, double output) {
    return R"({"input_tokens":)" + json::number_text(input) + R"(,"cached_input_tokens":)" + json::number_text(cached) +
           R"(,"output_tokens":)" + json::number_text(output) + R"(,"reasoning_output_tokens":0,"total_tokens":)" +
           json::number_text(input + output) + "}";
  }

  StoreOfLines& store_;
  Random& random_;
  const bool has_last_;  // older versions write only the running sums
  std::vector<Thread> threads_;
  std::map<std::string, std::string> usages_;
  Expected expected_;
};

TEST(UsageCopies, OfCodexCountOnce) {
  const testing::TempStore scratch;
  for (unsigned seed = 0; seed < kStores; ++seed) {
    Random random(seed);
    StoreOfLines store("codex", scratch.root() + "/codex");
    CodexStore made(store, random);
    made.copy_rows();
    store.write();
    expect_sums(store.sums(), made.expected());
    EXPECT_EQ(store.usages(), made.usages());
    ASSERT_FALSE(HasFailure()) << "store " << seed;
  }
}

/// Logs of omp and pi; a fork is a log with the entries of another.
class OmpStore {
 public:
  OmpStore(StoreOfLines& store, Random& random) : store_(store), random_(random) {
    for (unsigned session = 1; session <= 2; ++session) {
      auto& lines = store.files[path(session)];
      lines.push_back(header(session));
      for (unsigned answer = 0; answer < 3; ++answer) {
        add_answer(session * 10 + answer, lines);
      }
    }
  }
  const Expected& expected() const { return expected_; }

  void copy_rows() {
    for (std::size_t copies = 1 + random_.below(4); copies > 0; --copies) {
      const auto& from = random_.of(store_.files).second;
      const std::string row = from.at(1 + random_.below(from.size() - 1));
      insert_anywhere(random_.of(store_.files).second, row, 1, random_);
    }
    auto fork = store_.files.begin()->second;
    fork.front() = header(3);
    store_.files[path(3)] = fork;
  }

 private:
  static std::string path(unsigned session) {
    return "sessions/-w-p/2026-05-01T10-00-00-000Z_aaaa00000000000" + std::to_string(session) + ".jsonl";
  }
  static std::string header(unsigned session) {
    return R"({"type":"session","version":3,"id":"aaaa00000000000)" + std::to_string(session) + R"(","timestamp":")" +
           time_text(session) + R"(","cwd":"/w/p"})";
  }

  void add_answer(unsigned number, StoreOfLines::Lines& lines) {
    const double input = static_cast<double>(random_.below(900));
    lines.push_back(R"({"type":"message","id":"000000)" + std::to_string(number) +
                    R"(","parentId":null,"timestamp":")" + time_text(number * 60) +
                    R"(","message":{"role":"assistant","content":[],"model":"m","usage":{"input":)" +
                    json::number_text(input) +
                    R"(,"output":3,"cacheRead":2,"cacheWrite":0,"totalTokens":5,"cost":{"total":0.5}}}})");
    ++expected_.messages;
    expected_.input += input;
    expected_.output += 3;
    expected_.cache_read += 2;
    expected_.cost += 0.5;
  }

  StoreOfLines& store_;
  Random& random_;
  Expected expected_;
};

class UsageCopiesOf : public ::testing::TestWithParam<const char*> {};

TEST_P(UsageCopiesOf, AgentsWithATreeCountOnce) {
  const testing::TempStore scratch;
  for (unsigned seed = 0; seed < kStores; ++seed) {
    Random random(seed);
    StoreOfLines store(GetParam(), scratch.root() + "/" + GetParam());
    OmpStore made(store, random);
    made.copy_rows();
    store.write();
    expect_sums(store.sums(), made.expected());
    ASSERT_FALSE(HasFailure()) << "store " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(UsageCopies, UsageCopiesOf, ::testing::Values("omp", "pi"));

/// The files of OpenCode; a fork by the program has new ids and the old times.
TEST(UsageCopies, OfOpenCodeCountOnce) {
  const testing::TempStore scratch;
  for (unsigned seed = 0; seed < kStores; ++seed) {
    Random random(seed);
    StoreOfLines store("opencode", scratch.root() + "/opencode");
    Expected expected;
    const std::size_t answers = 1 + random.below(3);
    for (std::size_t answer = 0; answer < answers; ++answer) {
      const std::string input = std::to_string(random.below(900));
      for (const std::string session : {"ses_a", "ses_b"}) {
        const std::string id = "msg_" + session.substr(4) + std::to_string(answer);
        store.files["storage/session/global/" + session + ".json"] = {
            R"({"id":")" + session + R"(","directory":"/w/p","title":"t","time":{"created":1,"updated":2}})"};
        store.files["storage/message/" + session + "/" + id + ".json"] = {
            R"({"id":")" + id + R"(","sessionID":")" + session + R"(","role":"assistant","time":{"created":)" +
            std::to_string(1000 + answer) + R"(},"modelID":"m","providerID":"p","cost":0.5,"tokens":{"input":)" +
            input + R"(,"output":3,"reasoning":0,"cache":{"read":2,"write":0}}})"};
      }
      ++expected.messages;
      expected.input += std::stod(input);
      expected.output += 3;
      expected.cache_read += 2;
      expected.cost += 0.5;
    }
    store.write();
    expect_sums(store.sums(), expected);
    ASSERT_FALSE(HasFailure()) << "store " << seed;
  }
}

/// goat records the cost of a session only, and copies it when it forks one.
TEST(UsageCopies, OfGoatCountOnce) {
  const testing::TempStore scratch;
  for (unsigned seed = 0; seed < kStores; ++seed) {
    Random random(seed);
    StoreOfLines store("goat", scratch.root() + "/goat");
    const double cost = static_cast<double>(1 + random.below(99)) / 100;
    const double more = random.one_in(2) ? static_cast<double>(random.below(99)) / 100 : 0;
    const std::string message =
        R"({"uuid":"u1","timestamp":"2026-05-01T10:00:00Z","message":{"role":"user","content":"x"}})";
    store.files["source/metadata.json"] = {R"({"id":"source","cwd":"/w/p","created_at":"2026-05-01T10:00:00Z",)"
                                           R"("total_cost_usd":)" +
                                           json::number_text(cost) + "}"};
    store.files["source/messages.jsonl"] = {message};
    store.files["fork/metadata.json"] = {R"({"id":"fork","parent_session_id":"source","cwd":"/w/p",)"
                                         R"("created_at":"2026-05-01T11:00:00Z","total_cost_usd":)" +
                                         json::number_text(cost + more) + "}"};
    store.files["fork/messages.jsonl"] = {message};
    if (more > 0) {
      store.files["fork/messages.jsonl"].push_back(
          R"({"uuid":"u2","timestamp":"2026-05-01T12:00:00Z","message":{"role":"user","content":"y"}})");
    }
    store.write();
    EXPECT_NEAR(store.sums().total().usage.cost, cost + more, 1e-9);
    ASSERT_FALSE(HasFailure()) << "store " << seed;
  }
}

// A row that was copied to the end of a fork does not make it older than it is.
TEST(UsageCopies, OwnCostOfAForkCountsWhateverRowStandsLast) {
  const testing::TempStore scratch;
  StoreOfLines store("goat", scratch.root() + "/goat");
  const auto metadata = [](const std::string& id, const std::string& hour, const std::string& more) {
    return R"({"id":")" + id + R"(","cwd":"/w/p","created_at":"2026-05-01T)" + hour + R"(:00:00Z",)" + more + "}";
  };
  const auto message = [](const std::string& id, const std::string& hour) {
    return R"({"uuid":")" + id + R"(","timestamp":"2026-05-01T)" + hour +
           R"(:00:00Z","message":{"role":"user","content":"x"}})";
  };
  store.files["source/metadata.json"] = {metadata("source", "10", R"("total_cost_usd":0.25)")};
  store.files["source/messages.jsonl"] = {message("u1", "10")};
  store.files["fork/metadata.json"] = {metadata("fork", "11", R"("total_cost_usd":0.75,"parent_session_id":"source")")};
  store.files["fork/messages.jsonl"] = {message("u1", "10"), message("u2", "12"), message("u1", "10")};
  store.write();
  EXPECT_EQ(store.sums().total().usage.cost, 0.75);
}

// A later row may raise what an earlier one told, also while the log is followed.
TEST(UsageCopies, GrowingReplyIsCountedAsItGrows) {
  const testing::TempStore scratch;
  StoreOfLines store("claude", scratch.root() + "/claude");
  const std::string path = "projects/-w-p/" + uuid(1) + ".jsonl";
  const auto row = [](unsigned number, int output) {
    return R"({"type":"assistant","uuid":")" + uuid(number) +
           R"(","parentUuid":null,"isSidechain":false,"sessionId":")" + uuid(1) +
           R"(","cwd":"/w/p","timestamp":"2026-05-01T10:00:00.000Z","message":{"id":"m","role":"assistant",)"
           R"("model":"x","content":[],"usage":{"input_tokens":10,"output_tokens":)" +
           std::to_string(output) + "}}}";
  };
  store.files[path] = {row(11, 3)};
  store.write();
  const auto catalog = store.open();
  const SessionPtr session = catalog->view()->by_id.front().second;
  const auto usage = [&session] {
    EXPECT_TRUE(session->refresh(Depth::details));
    return plain_usage_json(session->read()->details().usage());
  };
  EXPECT_EQ(usage(), R"({"input":10,"output":3})");
  const std::uint32_t generation = session->generations().entries;
  std::ofstream(scratch.root() + "/claude/" + path, std::ios::app) << row(12, 159) << "\n" << row(13, 20) << "\n";
  EXPECT_EQ(usage(), R"({"input":10,"output":159})");
  EXPECT_EQ(session->generations().entries, generation) << "the index grew";
}

// The cost of a whole session is that of the session which its row names, also where the row was copied.
TEST(UsageCopies, CostOfAWholeSessionCountsInThatSession) {
  const testing::TempStore scratch;
  StoreOfLines store("claude", scratch.root() + "/claude");
  const auto row = [](unsigned session, unsigned number) {
    return R"({"type":"assistant","uuid":")" + uuid(number) +
           R"(","parentUuid":null,"isSidechain":false,"sessionId":")" + uuid(session) +
           R"(","cwd":"/w/p","timestamp":")" + time_text(number) + R"(","message":{"id":"m)" + std::to_string(number) +
           R"(","role":"assistant","model":"x","content":[],"usage":{"input_tokens":10,"output_tokens":1}}})";
  };
  const auto cost = [](unsigned session, const std::string& dollars) {
    return R"({"type":"cost-state","sessionId":")" + uuid(session) + R"(","totalCostUSD":)" + dollars + "}";
  };
  const auto path = [](unsigned session) { return "projects/-w-p/" + uuid(session) + ".jsonl"; };
  store.files[path(1)] = {row(1, 11), cost(1, "0.25"), row(1, 12), cost(1, "0.5")};
  store.files[path(2)] = store.files[path(1)];
  store.files[path(2)].insert(store.files[path(2)].end(), {row(2, 13), cost(2, "0.125"), cost(1, "0.5")});
  store.write();
  EXPECT_EQ(store.sums().total().usage.cost, 0.625);
  EXPECT_EQ(store.sums().total().messages, 3U);
  EXPECT_FALSE(store.sums().total().has_partial_cost());
}

// A total over parts whose cost is unknown says so.
TEST(UsageCopies, PartialCostIsNamed) {
  const testing::TempStore scratch;
  StoreOfLines store("claude", scratch.root() + "/claude");
  const auto row = [](unsigned number, const std::string& cost) {
    return R"({"type":"assistant","uuid":")" + uuid(number) +
           R"(","parentUuid":null,"isSidechain":false,"sessionId":")" + uuid(1) +
           R"(","cwd":"/w/p","timestamp":"2026-05-01T10:00:00.000Z",)" + cost + R"("message":{"id":"m)" +
           std::to_string(number) +
           R"(","role":"assistant","model":"x","content":[],)"
           R"("usage":{"input_tokens":10,"output_tokens":1}}})";
  };
  store.files["projects/-w-p/" + uuid(1) + ".jsonl"] = {row(11, R"("costUSD":0.5,)"), row(12, ""), row(13, "")};
  store.write();
  EXPECT_EQ(store.usages().at(uuid(1)), R"({"input":30,"output":3,"cost":0.5,"messagesWithoutCost":2})");
  const auto sums = store.sums();
  EXPECT_EQ(sums.total().without_cost, 2U);
  EXPECT_TRUE(sums.total().has_partial_cost());
  EXPECT_THAT(stats::tsv(sums, By::agent), ::testing::EndsWith("\t0.5\t2\n"));
}

}  // namespace
}  // namespace arborfs
