// A number is taken once, and from the right record (claude/FORMAT.md E1, goat/FORMAT.md B2): single cases of the
// property K1 in generated_stores_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/store_totals.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using stats::By;
using testing::StoreOfLines;

std::string uuid(unsigned number) {
  std::string digits = std::to_string(number);
  return std::string(8 - digits.size(), '0') + digits + "-0000-7000-8000-000000000000";
}

std::string time_text(unsigned second) {
  const auto two = [](unsigned n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return "2026-05-01T" + two(second / 3600 % 24) + ":" + two(second / 60 % 60) + ":" + two(second % 60) + ".000Z";
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
  const std::uint32_t generation = session->versions().entries;
  std::ofstream(scratch.root() + "/claude/" + path, std::ios::app) << row(12, 159) << "\n" << row(13, 20) << "\n";
  EXPECT_EQ(usage(), R"({"input":10,"output":159})");
  EXPECT_EQ(session->versions().entries, generation) << "the index grew";
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
  EXPECT_THAT(stats::tsv(sums, By::agent), ::testing::EndsWith("\t0.5\t2\t\n"));
}

}  // namespace
}  // namespace arborfs
