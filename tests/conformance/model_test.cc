// Cases too rare or too large for the corpus: the order of invalid dates, names of entries, large sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "core/entry/tree.h"
#include "core/entry/usage.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"

namespace arborfs::conformance {
namespace {

constexpr std::string_view kHeader =
    R"({"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z"})";

struct TestSession {
  std::shared_ptr<const LogSource> log;
  std::unique_ptr<LogIndex> index;
};

TestSession session_of(const std::string& lines) {
  TestSession session;
  session.log = log_from_bytes(std::string(kHeader) + "\n" + lines);
  auto index = omp::reader().index(*session.log, {});
  EXPECT_TRUE(index);
  session.index = std::move(*index);
  return session;
}

std::string entry(const std::string& id, const std::string& parent, const std::string& more) {
  const std::string parent_json = parent.empty() ? "null" : "\"" + parent + "\"";
  return R"({"id":")" + id + R"(","parentId":)" + parent_json + "," + more + "}\n";
}

std::string dated(int number, const std::string& timestamp_json) {
  return entry("e" + std::to_string(number), "root", R"("type":"custom","timestamp":)" + timestamp_json);
}

std::string context_text(const TestSession& session, Ordinal leaf) {
  const auto content = omp::build_context(context_path(*session.index, leaf), session.log, nullptr);
  EXPECT_TRUE(content);
  const auto text = (*content)->read_all();
  EXPECT_TRUE(text);
  return *text;
}

std::vector<Ordinal> sorted(const std::vector<std::string>& timestamps) {
  std::string lines;
  std::vector<Ordinal> children;
  for (std::size_t i = 0; i < timestamps.size(); ++i) {
    lines += dated(static_cast<int>(i), timestamps[i]);
    children.push_back(static_cast<Ordinal>(i + 1));
  }
  const TestSession session = session_of(lines);
  sort_like_agents(children, *session.index);
  return children;
}

TEST(SortLikeAgents, IsStableByTime) {
  EXPECT_EQ(sorted({"3", "1", "2", "1"}), (std::vector<Ordinal>{2, 4, 3, 1}));
}

TEST(SortLikeAgents, InsertsAmongInvalidDates) {
  EXPECT_EQ(sorted({"3", "\"x\"", "1"}), (std::vector<Ordinal>{1, 2, 3}));
  EXPECT_EQ(sorted({"3", "1", "\"x\"", "0"}), (std::vector<Ordinal>{4, 2, 1, 3}));
}

// From 8 elements on, the ordered run at the front is kept and the rest is inserted.
TEST(SortLikeAgents, KeepsTheLeadingRun) {
  EXPECT_EQ(sorted({"5", "\"x\"", "6", "7", "4", "\"x\"", "1", "9"}), (std::vector<Ordinal>{1, 2, 7, 5, 3, 4, 6, 8}));
}

TEST(SortLikeAgents, MergesLongLists) {
  std::vector<std::string> timestamps;
  std::vector<std::pair<int, Ordinal>> expected;
  for (int i = 0; i < 1000; ++i) {
    const int time = i * 7919 % 613;
    timestamps.push_back(std::to_string(time));
    expected.emplace_back(time, static_cast<Ordinal>(i + 1));
  }
  std::sort(expected.begin(), expected.end());
  const std::vector<Ordinal> got = sorted(timestamps);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], expected[i].second) << i;
  }
}

TEST(Tree, RepeatedSubtreesDoNotMultiply) {
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    const std::string parent = i == 0 ? "" : "e" + std::to_string(i - 1);
    for (int copy = 0; copy < 2; ++copy) {
      lines += entry("e" + std::to_string(i), parent, R"("type":"custom")");
    }
  }
  const TestSession session = session_of(lines);
  EXPECT_LT(tree_of(*session.index).nodes.size(), 10000U);
}

TEST(Path, MillionEntriesTakeBoundedTime) {
  std::string lines;
  for (int i = 0; i < 1'000'000; ++i) {
    lines += R"({"id":"e)" + std::to_string(i) + R"(","parentId":")" + (i == 0 ? "" : "e" + std::to_string(i - 1)) +
             R"(","type":"custom"})" + "\n";
  }
  const TestSession session = session_of(lines);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(path_to(*session.index, session.index->leaf()).size(), 1'000'000U);
  EXPECT_EQ(tree_of(*session.index).nodes.back().depth, 999'999U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(NamedLabels, NewestKeepsThePlainName) {
  const TestSession session =
      session_of(entry("aaaa0001", "", R"("type":"custom")") + entry("aaaa0002", "aaaa0001", R"("type":"custom")") +
                 entry("l1", "aaaa0002", R"("type":"label","targetId":"aaaa0001","label":"x")") +
                 entry("l2", "l1", R"("type":"label","targetId":"aaaa0002","label":"x")") +
                 entry("l3", "l2", R"("type":"label","targetId":"unknown","label":"y")"));
  const auto labels = named_labels(*session.index);
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[0].name, "x@aaaa0001");
  EXPECT_EQ(labels[0].target, 1U);
  EXPECT_EQ(labels[1].name, "x");
  EXPECT_EQ(labels[1].target, 2U);
}

TEST(ResolveEntry, AcceptsIdsPrefixesNumbersAndLabels) {
  const TestSession session = session_of(
      entry("aaaa0001", "", R"("type":"message","message":{"role":"user"})") +
      entry("aaab0002", "aaaa0001", R"("type":"custom")") + entry("7", "aaab0002", R"("type":"custom")") +
      entry("a b", "7", R"("type":"custom")") + entry("l", "a b", R"("type":"label","targetId":"7","label":"good")"));
  const auto resolve = [&session](std::string_view spelled) { return resolve_entry(*session.index, spelled); };
  EXPECT_EQ(resolve("aaaa0001"), 1U);
  EXPECT_EQ(resolve("aaab"), 2U);
  EXPECT_EQ(resolve("aaa"), kNoEntry);
  EXPECT_EQ(resolve("#2"), 2U);
  EXPECT_EQ(resolve("2"), 2U);
  EXPECT_EQ(resolve("7"), 3U);  // an id wins over an ordinal
  EXPECT_EQ(resolve("#7"), kNoEntry);
  EXPECT_EQ(resolve("000001-user-aaaa0001"), 1U);
  EXPECT_EQ(resolve("000004-custom-a%20b"), 4U);
  EXPECT_EQ(resolve("000002-user-aaaa0001"), kNoEntry);
  EXPECT_EQ(resolve("good"), 3U);
  EXPECT_EQ(resolve(""), kNoEntry);
  EXPECT_EQ(resolve("root"), kNoEntry);
}

TEST(ResolveEntry, LabelsDoNotHideOrdinals) {
  const TestSession session =
      session_of(entry("aaaa0001", "", R"("type":"custom")") + entry("aaaa0002", "aaaa0001", R"("type":"custom")") +
                 entry("l", "aaaa0002", R"("type":"label","targetId":"aaaa0001","label":"2")") +
                 entry("m", "l", R"("type":"label","targetId":"aaaa0002","label":"#3")"));
  EXPECT_EQ(resolve_entry(*session.index, "2"), kNoEntry);  // ambiguous: a writer must say which one
  EXPECT_EQ(resolve_entry(*session.index, "#2"), 2U);
  EXPECT_EQ(resolve_entry(*session.index, "#3"), 3U);
  EXPECT_EQ(resolve_name(*session.index, "2"), 2U);
  EXPECT_EQ(resolve_name(*session.index, "aaaa0001"), 1U);
}

TEST(Usage, AddsAsJavaScriptDoes) {
  UsageTotals totals;
  const auto add = [&totals](std::string_view usage) {
    const std::string raw = R"({"type":"message","message":{"role":"assistant","usage":)" + std::string(usage) + "}}";
    if (const auto found = omp::find_usage(EntryType::message, raw)) {
      totals.add(*found);
    }
  };
  add(R"({"input":0.1,"output":1,"cacheRead":null,"cacheWrite":1,"cost":{"total":0.5}})");
  add(R"({"input":0.2,"output":2,"cacheRead":1,"premiumRequests":2})");
  add("null");
  EXPECT_EQ(omp::usage_json(totals, omp::Dialect::omp13),
            R"({"input":0.30000000000000004,"output":3,"cacheRead":1,"cacheWrite":null,)"
            R"("premiumRequests":2,"cost":0.5})");
}

/// The whole context is refused, and so is a translation.
void expect_too_long(const TestSession& session, Ordinal leaf) {
  const auto path = context_path(*session.index, leaf);
  const auto content = omp::build_context(path, session.log, nullptr);
  ASSERT_TRUE(content);
  EXPECT_GT((*content)->size(), omp::kLongestHeld);
  const auto read = (*content)->read(0, 64);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::too_large);
  EXPECT_NE(read.error().message.find("too long"), std::string::npos) << read.error().message;
  const auto taken = omp::each_message(path, session.log, nullptr, omp::ContextScope::whole,
                                       [](std::size_t, const std::string&) { return Result<void>(); });
  EXPECT_EQ(taken.error().code, Errc::too_large);
}

TEST(Context, NeedingAnEntryOfMoreThan64MibIsRefused) {
  const std::string text(65U * 1024 * 1024, 'x');
  const TestSession message =
      session_of(entry("a", "", R"("type":"message","message":{"role":"user","content":")" + text + "\"}") +
                 entry("b", "a", R"("type":"message","message":{"role":"user","content":"short"})"));
  expect_too_long(message, 2);
  expect_too_long(session_of(entry("a", "", R"("type":"custom_message","customType":"k","content":")" + text + "\"")),
                  1);
}

TEST(Context, HidesAnEntryOfMoreThan64MibBehindACompaction) {
  const std::string text(65U * 1024 * 1024, 'x');
  const TestSession session =
      session_of(entry("a", "", R"("type":"message","message":{"role":"user","content":")" + text + "\"}") +
                 entry("b", "a", R"("type":"compaction","summary":"s","firstKeptEntryId":"c")"));
  EXPECT_TRUE(context_text(session, 2).starts_with("{\"messages\":[\n{\"role\":\"compactionSummary\""));
}

TEST(Context, EmptyLogHasAnEmptyContext) {
  EXPECT_EQ(context_text(session_of(""), kNoEntry),
            "{\"messages\":[\n],\"thinkingLevel\":\"off\",\"models\":{},\"injectedTtsrRules\":[],"
            "\"selectedMCPToolNames\":[],\"hasPersistedMCPToolSelection\":false,\"mode\":\"none\"}\n");
}

TEST(Context, TruncatedLogIsStale) {
  const TestSession session =
      session_of(entry("a", "", R"("type":"message","message":{"role":"user","content":"hello"})"));
  const auto shorter = log_from_bytes(std::string(kHeader) + "\n");
  const auto content = omp::build_context(context_path(*session.index, 1), shorter, nullptr);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, Errc::stale);
}

}  // namespace
}  // namespace arborfs::conformance
