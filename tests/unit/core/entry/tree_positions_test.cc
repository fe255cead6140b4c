// The tree by positions: each entry is drawn once, whatever the ids. generated_stores_test.cc has the property, K7, of
// logs whose ids are sound.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/entry/tree.h"
#include "core/entry/views.h"
#include "core/formats/claude/format.h"
#include "core/formats/codex/format.h"
#include "core/formats/goat/format.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/opal/format.h"
#include "core/formats/opencode/format.h"
#include "core/log/log_reader.h"
#include "tests/support/said_rows.h"
#include "tests/support/sanitized.h"

namespace arborfs {
namespace {

using testing::SaidRow;

constexpr int kLogs = 1000 / arborfs::testing::kSanitizedShare;

const std::vector<const Format*>& all_formats() {
  static const std::vector<const Format*> formats{&omp::format(),      &omp::pi_format(), &opal::format(),
                                                  &opencode::format(), &goat::format(),   &claude::format(),
                                                  &codex::format()};
  return formats;
}

std::unique_ptr<LogIndex> index_of(const Format& format, std::string text) {
  auto index = format.reader->index(*log_from_bytes(std::move(text)), {});
  EXPECT_TRUE(index) << format.agent;
  return std::move(index).value();
}

/// The number at the start of each line, after what draws the tree.
std::vector<Ordinal> drawn_in(const LogIndex& index) {
  std::vector<Ordinal> drawn;
  const std::string text = draw_tree(index, index.leaf(), [](Ordinal /*ordinal*/) { return std::string(); });
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::size_t digit = text.find_first_of("0123456789", at);
    drawn.push_back(static_cast<Ordinal>(std::stoul(text.substr(digit, 6))));
  }
  return drawn;
}

void expect_each_once(const LogIndex& index, const std::string& about) {
  std::vector<Ordinal> drawn = drawn_in(index);
  std::sort(drawn.begin(), drawn.end());
  ASSERT_EQ(drawn.size(), index.size()) << about;
  for (Ordinal o = 1; o <= index.size(); ++o) {
    ASSERT_EQ(drawn[o - 1], o) << about;
  }
  ASSERT_EQ(index.tips().size(), index.tip_count()) << about;
}

class Rows {
 public:
  explicit Rows(std::uint32_t seed) : random_(seed) {}

  /// A conversation that goes on from its last row or, now and then, from an earlier one.
  std::vector<SaidRow> conversation() {
    std::vector<SaidRow> rows;
    const std::size_t count = 1 + pick(12);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string parent = rows.empty() ? "" : rows[pick(5) == 0 ? pick(i) : i - 1].id;
      rows.push_back(
          {"id-" + std::to_string(i), parent, i % 2 == 0 ? "user" : "assistant", "step " + std::to_string(i)});
    }
    return rows;
  }
  /// Ids and parents without any sense: equal, missing, in rings.
  std::vector<SaidRow> nonsense() {
    std::vector<SaidRow> rows;
    for (std::size_t i = 1 + pick(14); i > 0; --i) {
      rows.push_back({std::string(1, static_cast<char>('a' + pick(6))),
                      std::string(pick(5) == 0 ? 0 : 1, static_cast<char>('a' + pick(7))),
                      pick(2) == 0 ? "user" : "assistant", "x"});
    }
    return rows;
  }
  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

 private:
  std::mt19937 random_;
};

TEST(TreePositions, WholeLogsThatAreWrittenAgainHaveOneBranchForEachThatTheyHad) {
  for (const Format* format : all_formats()) {
    for (int log = 0; log < kLogs; ++log) {
      Rows rows(static_cast<std::uint32_t>(log));
      const auto once = rows.conversation();
      const auto plain = index_of(*format, testing::log_text_of(format->agent, once));
      auto twice = once;
      twice.insert(twice.end(), once.begin(), once.end());
      const auto index = index_of(*format, testing::log_text_of(format->agent, twice));
      ASSERT_NO_FATAL_FAILURE(expect_each_once(*index, std::string(format->agent)));
      ASSERT_EQ(index->tip_count(), plain->tip_count()) << format->agent << " " << log;
    }
  }
}

TEST(TreePositions, EachEntryIsDrawnOnceWhateverTheIds) {
  for (const Format* format : all_formats()) {
    for (int log = 0; log < kLogs; ++log) {
      const std::string text = testing::log_text_of(format->agent, Rows(static_cast<std::uint32_t>(log)).nonsense());
      ASSERT_NO_FATAL_FAILURE(expect_each_once(*index_of(*format, text), text));
    }
  }
}

TEST(TreePositions, EntriesWithoutIdsAreDrawnEachForItself) {
  std::string text = testing::head_of("omp");
  for (int row = 0; row < 5; ++row) {
    text += R"({"type":"custom","parentId":null,"n":)" + std::to_string(row) + "}\n";
  }
  const auto index = index_of(omp::format(), text);
  EXPECT_EQ(drawn_in(*index), (std::vector<Ordinal>{1, 2, 3, 4, 5}));
}

TEST(TreePositions, ARepeatedRowIsBelowTheFirstAndHasItsChildren) {
  const auto index = index_of(omp::format(), testing::log_text_of("omp", {{"a", "", "user", "x"},
                                                                          {"b", "a", "assistant", "y"},
                                                                          {"a", "", "user", "x"},
                                                                          {"c", "b", "user", "z"}}));
  EXPECT_EQ(drawn_in(*index), (std::vector<Ordinal>{1, 3, 2, 4}));
  EXPECT_EQ(index->tips(), std::vector<Ordinal>{4});
}

TEST(TreePositions, AnIdThatIsUsedAgainElsewhereKeepsTheChildrenOfEachPlace) {
  const auto index = index_of(omp::format(), testing::log_text_of("omp", {{"a", "", "user", "x"},
                                                                          {"b", "a", "assistant", "y"},
                                                                          {"c", "b", "user", "z"},
                                                                          {"b", "c", "assistant", "other"},
                                                                          {"d", "b", "user", "w"}}));
  EXPECT_EQ(drawn_in(*index), (std::vector<Ordinal>{1, 2, 3, 4, 5}));
  EXPECT_EQ(index->tips(), std::vector<Ordinal>{5});
}

// As Claude Code's files have it: the rows of one reply, each written twice.
TEST(TreePositions, BlocksOfOneReplyThatAreWrittenAgainKeepTheirParents) {
  std::string text;
  const auto add = [&](const std::string& id, const std::string& parent, const std::string& role,
                       const std::string& block) {
    const std::string line = R"({"type":")" + role + R"(","uuid":")" + id + R"(","parentUuid":)" +
                             (parent.empty() ? "null" : '"' + parent + '"') +
                             R"(,"sessionId":"s","message":{"role":")" + role + R"(","id":"m1","content":[)" + block +
                             "]}}\n";
    text += line + line;
  };
  add("u", "", "user", R"({"type":"text","text":"go"})");
  add("b1", "u", "assistant", R"({"type":"tool_use","id":"t1","name":"x","input":{}})");
  add("b2", "b1", "assistant", R"({"type":"tool_use","id":"t2","name":"x","input":{}})");
  add("r1", "b1", "user", R"({"type":"tool_result","tool_use_id":"t1","content":"1"})");
  add("r2", "b2", "user", R"({"type":"tool_result","tool_use_id":"t2","content":"2"})");
  const auto index = index_of(claude::format(), text);
  EXPECT_EQ(drawn_in(*index), (std::vector<Ordinal>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(path_to(*index, index->leaf()).size(), 5U);
  EXPECT_EQ(index->tip_count(), 1U);
}

}  // namespace
}  // namespace arborfs
