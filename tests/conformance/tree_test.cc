// Title, entries, tree, labels, leaf and usage of every session of the corpus, compared with both generations of the
// agent, and of every log that omp 18.3.4 was asked about.
#include "core/entry/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/entry/usage.h"
#include "core/formats/omp/context/renderer.h"
#include "tests/support/corpus.h"

namespace arborfs::conformance {
namespace {

// A member in the form of id_json.
std::string member_json(const json::Value& object, std::string_view key) {
  const json::Value* value = json::member(object, key);
  return value == nullptr ? "null" : json::stringify(*value);
}

// A label's text in arborfs.
std::string label_text(const json::Value& label) {
  return label.IsString() ? std::string(json::as_string(label)) : json::stringify(label);
}

class TreeConformance : public testing::TestWithParam<CorpusCase> {
 protected:
  void SetUp() override {
    session_ = open_session(GetParam());
    read_oracle(GetParam(), oracle_);
  }
  [[nodiscard]] const json::Value* answer(std::string_view key) const {
    return json::is_string(json::member(oracle_, "outcome"), "ok") ? json::member(oracle_, key) : nullptr;
  }

  CorpusSession session_;
  json::Document oracle_;
};

// True if the agent's tree has one node for each entry. Of entries with one id, and of those without any, it shows the
// last one in the place of each.
bool has_own_nodes(const LogIndex& index) {
  for (Ordinal o = 1; o <= index.size(); ++o) {
    if (index.id(o).kind == EntryId::Kind::missing) {
      return false;
    }
  }
  return !index.has_duplicate_ids();
}

TEST_P(TreeConformance, NodesAreInPreOrder) {
  const LogIndex& index = *session_.index;
  const Tree tree = tree_of(index);
  const json::Value* expected = answer("treeFlat");
  if (expected == nullptr || !has_own_nodes(index)) {
    return;  // the agent refused the log, or its tree has no end; or the next test compares it
  }
  ASSERT_EQ(tree.nodes.size(), expected->Size());
  for (rapidjson::SizeType i = 0; i < expected->Size(); ++i) {
    const json::Value& row = (*expected)[i];
    const EntryId id = index.id(tree.nodes[i].ordinal);
    EXPECT_EQ(tree.nodes[i].depth, row[0].GetDouble()) << i;
    EXPECT_EQ(id_json(id), json::stringify(row[1])) << i;
    const Label* label = label_of(index, id);
    ASSERT_EQ(label != nullptr, row.Size() > 2) << i;
    if (label != nullptr) {
      EXPECT_EQ(label->text, label_text(row[2])) << i;
    }
  }
}

TEST_P(TreeConformance, HasEveryIdThatTheAgentShows) {
  const json::Value* expected = answer("treeFlat");
  if (expected == nullptr) {
    return;
  }
  std::set<std::string> ids;
  for (const TreeNode& node : tree_of(*session_.index).nodes) {
    ids.insert(id_json(session_.index->id(node.ordinal)));
  }
  for (const json::Value& row : expected->GetArray()) {
    EXPECT_TRUE(ids.contains(json::stringify(row[1]))) << json::stringify(row[1]);
  }
}

TEST_P(TreeConformance, EveryEntryIsInTheTreeOnceOrUnreachable) {
  const LogIndex& index = *session_.index;
  const Tree tree = tree_of(index);
  std::vector<int> listed(index.size() + std::size_t{1});
  for (const TreeNode& node : tree.nodes) {
    ++listed[node.ordinal];
  }
  for (const Ordinal ordinal : tree.unreachable) {
    ++listed[ordinal];
  }
  for (Ordinal o = 1; o <= index.size(); ++o) {
    EXPECT_EQ(listed[o], 1) << o;
  }
}

TEST_P(TreeConformance, LeafAndEntryCountMatch) {
  if (const json::Value* count = answer("entryCount")) {
    EXPECT_EQ(session_.index->size(), count->GetDouble());
  }
  if (const json::Value* leaf = answer("leafId"); leaf != nullptr && session_.index->leaf() != kNoEntry) {
    EXPECT_EQ(id_json(session_.index->id(session_.index->leaf())), json::stringify(*leaf));
  }
}

TEST_P(TreeConformance, EntriesMatch) {
  const LogIndex& index = *session_.index;
  const json::Value* expected = answer("entries");
  if (expected == nullptr) {
    return;
  }
  ASSERT_EQ(index.size(), expected->Size());
  for (Ordinal o = 1; o <= index.size(); ++o) {
    const json::Value& row = (*expected)[o - 1];
    EXPECT_EQ(id_json(index.id(o)), member_json(row, "id")) << o;
    EXPECT_EQ(id_json(index.parent_id(o)), member_json(row, "parentId")) << o;
    const json::Value* type = json::member(row, "type");
    EXPECT_EQ(index.type_text(o), type != nullptr && type->IsString() ? json::as_string(*type) : "") << o;
  }
}

TEST_P(TreeConformance, TitleMatches) {
  const json::Value* header = answer("header");
  if (header == nullptr || !header->IsObject()) {
    return;
  }
  EXPECT_EQ(session_.index->header().title, json::string_member(*header, "title").value_or(""));
}

TEST_P(TreeConformance, LabelsMatch) {
  const json::Value* expected = answer("labels");
  if (expected == nullptr) {
    return;
  }
  std::map<std::string, std::string> ours;
  for (const Label& label : session_.index->labels()) {
    ours[label.target.kind == EntryId::Kind::missing ? "undefined" : label.target.text] = label.text;
  }
  std::map<std::string, std::string> theirs;
  for (const auto& [target, label] : expected->GetObject()) {
    theirs[std::string(json::as_string(target))] = label_text(label);
  }
  EXPECT_EQ(ours, theirs);
}

TEST_P(TreeConformance, UsageMatches) {
  const LogIndex& index = *session_.index;
  UsageTotals totals;
  for (Ordinal o = 1; o <= index.size(); ++o) {
    const auto raw = session_.log->read(index.entry(o).offset, index.length(o));
    ASSERT_TRUE(raw);
    if (const auto usage = omp::find_usage(index.entry(o).type, *raw)) {
      totals.add(*usage);
    }
  }
  if (const json::Value* expected = answer("usage")) {
    EXPECT_EQ(omp::usage_json(totals, GetParam().dialect), json::stringify(*expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, TreeConformance, testing::ValuesIn(corpus_cases()),
                         [](const auto& test) { return test.param.title(); });
INSTANTIATE_TEST_SUITE_P(Newest, TreeConformance, testing::ValuesIn(newest_cases()),
                         [](const auto& test) { return test.param.title(); });

}  // namespace
}  // namespace arborfs::conformance
