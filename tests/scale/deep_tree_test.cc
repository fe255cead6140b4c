// Deep, wide and cyclic trees (FAILURES.md F19, S7): no recursion, no quadratic walk.
#include "core/entry/tree.h"
#include "core/formats/omp/context/context.h"
#include "core/json/document.h"
#include "tests/scale/scale_support.h"

namespace arborfs::scale {
namespace {

constexpr std::uint64_t kDepth = 100'000 / kShrink;
constexpr double kBuilds = 40;

struct Indexed {
  std::shared_ptr<const LogSource> log;
  std::unique_ptr<LogIndex> index;
  double seconds = 0;
};

// Indexing this log is the unit of time below.
Indexed index_text(std::string text) {
  Indexed made;
  made.log = log_from_bytes(std::move(text));
  made.seconds = least_cpu_seconds(3, [&] { made.index = index_of(*made.log); });
  return made;
}

std::string chain_text(std::uint64_t depth) {
  std::string text(kHeaderLine);
  for (std::uint64_t i = 1; i <= depth; ++i) {
    text += entry_line(hex_id(i), i == 1 ? "null" : in_quotes(hex_id(i - 1)));
  }
  return text;
}

TEST(DeepTree, ChainIsWalkedInLinearTime) {
  const Indexed chain = index_text(chain_text(kDepth));
  ASSERT_TRUE(chain.index);
  std::vector<Ordinal> path;
  Tree tree;
  const double walked = cpu_seconds([&] {
    path = path_to(*chain.index, chain.index->leaf());
    tree = tree_of(*chain.index);
  });
  ASSERT_EQ(path.size(), kDepth);
  EXPECT_EQ(path.front(), 1U);
  EXPECT_EQ(path.back(), kDepth);
  ASSERT_EQ(tree.nodes.size(), kDepth);
  EXPECT_EQ(tree.nodes.back().depth, kDepth - 1);
  EXPECT_TRUE(tree.unreachable.empty());
  EXPECT_LT(walked, chain.seconds * kBuilds);
  EXPECT_EQ(chain.index->tip_count(), 1U);
}

TEST(DeepTree, ContextOfAChainTakesLinearTime) {
  const Indexed chain = index_text(chain_text(kDepth));
  ASSERT_TRUE(chain.index);
  std::string text;
  const double made = cpu_seconds([&] {
    const auto content = omp::build_context(context_path(*chain.index, chain.index->leaf()), chain.log, nullptr);
    ASSERT_TRUE(content) << content.error().message;
    const auto all = (*content)->read_all();
    ASSERT_TRUE(all) << all.error().message;
    text = *all;
  });
  json::Document document;
  ASSERT_TRUE(json::parse(text, document));
  const json::Value* messages = json::member(document, "messages");
  ASSERT_NE(messages, nullptr);
  EXPECT_EQ(messages->Size(), kDepth);
  EXPECT_LT(made, chain.seconds * kBuilds);
}

TEST(DeepTree, ReverseOrderTakesLinearTime) {
  std::string text(kHeaderLine);
  for (std::uint64_t i = kDepth; i >= 1; --i) {
    text += entry_line(hex_id(i), i == 1 ? "null" : in_quotes(hex_id(i - 1)));
  }
  const Indexed backward = index_text(std::move(text));
  ASSERT_TRUE(backward.index);
  std::size_t nodes = 0;
  std::size_t path = 0;
  const double walked = cpu_seconds([&] {
    nodes = tree_of(*backward.index).nodes.size();
    path = path_to(*backward.index, 1).size();
  });
  EXPECT_EQ(nodes, kDepth);
  EXPECT_EQ(path, kDepth);
  EXPECT_LT(walked, backward.seconds * kBuilds);
}

TEST(DeepTree, ManyChildrenOfOneParentTakeLinearTime) {
  // Invalid times: the agents' sort treats them as equal to everything.
  std::string text(kHeaderLine);
  text += entry_line("root", "null");
  for (std::uint64_t i = 1; i <= kDepth; ++i) {
    text += entry_line(hex_id(i), in_quotes("root"), "x", i % 2 == 0 ? "never" : "2026-02-16T10:20:31.000Z");
  }
  const Indexed wide = index_text(std::move(text));
  ASSERT_TRUE(wide.index);
  std::size_t nodes = 0;
  const double walked = cpu_seconds([&] { nodes = tree_of(*wide.index).nodes.size(); });
  EXPECT_EQ(nodes, kDepth + 1);
  EXPECT_EQ(wide.index->tip_count(), kDepth);
  EXPECT_LT(walked, wide.seconds * kBuilds);
}

TEST(DeepTree, CycleWithATailEnds) {
  std::string text(kHeaderLine);
  for (std::uint64_t i = 1; i <= kDepth; ++i) {
    const std::uint64_t parent = i == 1 ? kDepth / 2 : i - 1;
    text += entry_line(hex_id(i), in_quotes(hex_id(parent)));
  }
  const Indexed round = index_text(std::move(text));
  ASSERT_TRUE(round.index);
  Tree tree;
  std::size_t path = 0;
  const double walked = cpu_seconds([&] {
    tree = tree_of(*round.index);
    path = path_to(*round.index, round.index->leaf()).size();
  });
  EXPECT_EQ(tree.nodes.size() + tree.unreachable.size(), kDepth);
  EXPECT_EQ(path, kDepth);
  EXPECT_LT(walked, round.seconds * kBuilds);
}

TEST(DeepTree, DuplicateIdsDoNotMultiply) {
  // Two lines for each id: the agents' tree would have 2^n nodes.
  std::string text(kHeaderLine);
  const std::uint64_t levels = kDepth / 10;
  for (std::uint64_t i = 1; i <= levels; ++i) {
    const std::string line = entry_line(hex_id(i), i == 1 ? "null" : in_quotes(hex_id(i - 1)));
    text += line + line;
  }
  const Indexed twice = index_text(std::move(text));
  ASSERT_TRUE(twice.index);
  Tree tree;
  const double walked = cpu_seconds([&] { tree = tree_of(*twice.index); });
  EXPECT_LE(tree.nodes.size(), levels * 2 * 8 + 10'000);
  EXPECT_EQ(path_to(*twice.index, twice.index->leaf()).size(), levels);
  EXPECT_LT(walked, twice.seconds * kBuilds);
}

TEST(DeepTree, ManyLabelsOfOneNameTakeLinearTime) {
  std::string text(kHeaderLine);
  for (std::uint64_t i = 1; i <= kDepth / 2; ++i) {
    text += entry_line(hex_id(i), i == 1 ? "null" : in_quotes(hex_id(i - 1)));
    text += R"({"type":"label","id":"l)" + hex_id(i) + R"(","parentId":")" + hex_id(i) + R"(","targetId":")" +
            hex_id(i) + R"(","label":"same"})" + "\n";
  }
  const Indexed labelled = index_text(std::move(text));
  ASSERT_TRUE(labelled.index);
  std::size_t names = 0;
  const double named = cpu_seconds([&] { names = named_labels(*labelled.index).size(); });
  EXPECT_EQ(names, kDepth / 2);
  EXPECT_LT(named, labelled.seconds * kBuilds);
}

}  // namespace
}  // namespace arborfs::scale
