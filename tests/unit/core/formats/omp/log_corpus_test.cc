// Every real session of the corpus, read as its oracles say.
#include <cstdlib>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/base64.h"
#include "tests/unit/log_test_support.h"

namespace arborfs::omp {
namespace {

using test::build;

class LogCorpus : public testing::TestWithParam<std::string> {};

std::string member_json(const json::Document& oracle, std::string_view key) {
  const json::Value* value = json::member(oracle, key);
  return value == nullptr ? "" : json::stringify(*value);
}

// The oracle's entries without types that are not strings, which the index does not keep.
std::string expected_entries(json::Document& oracle) {
  json::Value* entries = json::member(oracle, "entries");
  for (json::Value& entry : entries->GetArray()) {
    const json::Value* type = json::member(entry, "type");
    if (type != nullptr && !type->IsString()) {
      json::erase(entry, "type");
    }
  }
  return json::stringify(*entries);
}

// The keys of the oracle's labels are the targets as JavaScript converts them to strings.
void compare_labels(const LogIndex& index, const json::Document& oracle) {
  const json::Value* labels = json::member(oracle, "labels");
  ASSERT_NE(labels, nullptr);
  for (const auto& member : labels->GetObject()) {
    const std::string_view target = json::as_string(member.name);
    const auto found = std::find_if(index.labels().begin(), index.labels().end(), [&](const Label& label) {
      return label.target.kind == EntryId::Kind::missing ? target == "undefined" : label.target.text == target;
    });
    ASSERT_NE(found, index.labels().end()) << target;
    EXPECT_EQ(found->text, member.value.IsString() ? json::as_string(member.value) : json::stringify(member.value));
  }
  EXPECT_EQ(index.labels().size(), labels->MemberCount());
}

void compare_leaf(const LogIndex& index, const json::Document& oracle) {
  const json::Value* leaf = json::member(oracle, "leafId");
  const EntryId id = index.leaf() == kNoEntry ? EntryId{EntryId::Kind::other, "null"} : index.id(index.leaf());
  std::string got;
  bool first = true;
  test::put_id(got, "leafId", id, first);
  EXPECT_EQ(got, leaf == nullptr ? "" : "\"leafId\":" + json::stringify(*leaf));
}

void compare(const std::string& name, Dialect dialect, const std::string& oracle_name) {
  const auto path = test::corpus() / name / oracle_name;
  json::Document oracle;
  ASSERT_TRUE(json::parse(test::read_file(path), oracle)) << path;
  const auto log = test::open_log(name);
  const auto index = build(*log, dialect);
  const auto outcome = json::string_member(oracle, "outcome").value();
  if (dialect == Dialect::omp18 && json::member(oracle, "malformedRecords") != nullptr) {
    EXPECT_EQ(std::to_string(index->malformed_records()), member_json(oracle, "malformedRecords"));
  }
  const auto head = read_header(*log, dialect);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->json, index->header().json);
  EXPECT_EQ(head->problem, index->header().problem);
  if (outcome.starts_with("throws")) {
    return;  // the agents crash on it
  }
  EXPECT_EQ(index->header().valid, outcome == "ok") << index->header().problem;
  if (outcome != "ok") {
    return;
  }
  EXPECT_EQ(index->header().json, member_json(oracle, "header"));
  EXPECT_EQ(index->header().migrated ? "true" : "false", member_json(oracle, "migrated"));
  EXPECT_EQ(test::entries_json(*index), expected_entries(oracle));
  compare_leaf(*index, oracle);
  compare_labels(*index, oracle);
}

TEST_P(LogCorpus, ReadsLikeOmp13) {
  compare(GetParam(), Dialect::omp13, "oracle-13.json");
}
TEST_P(LogCorpus, ReadsLikeOmp18) {
  compare(GetParam(), Dialect::omp18, "oracle-18.json");
}

TEST_P(LogCorpus, ChoosesTheDialectOfItsWriter) {
  const auto index = build(*test::open_log(GetParam()));
  if (index->header().has_slot) {
    EXPECT_EQ(dialect_of(*index), Dialect::omp18);
  }
  if (GetParam().starts_with("w13")) {
    EXPECT_EQ(dialect_of(*index), Dialect::omp13);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LogCorpus, testing::ValuesIn(test::corpus_cases()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The values of an index as JSON: the header if it is valid, and the entries.
std::string values_json(const LogSource& log, const LogIndex& index) {
  std::string out = "[";
  if (index.header().valid) {
    json::canonicalize(*log.read(index.header().offset, index.header().length), out);
  }
  for (Ordinal i = 1; i <= index.size(); ++i) {
    out += out.size() > 1 ? "," : "";
    json::canonicalize(*log.read(index.entry(i).offset, index.length(i)), out);
  }
  return out + "]";
}

void compare_vectors(const char* file_name) {
  std::ifstream in(test::corpus() / "_vectors" / file_name);
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    json::Document vector;
    ASSERT_TRUE(json::parse(line, vector));
    std::string input = json::decode_base64(json::string_member(vector, "inputBase64").value());
    if (input.starts_with("\xEF\xBB\xBF")) {
      input.insert(0, 1, '\n');  // the vectors are text that is already decoded: this BOM is a character
    }
    const auto log = log_from_bytes(input);
    const auto index = build(*log, Dialect::omp18);
    EXPECT_EQ(values_json(*log, *index), json::string_member(vector, "values").value()) << line;
    EXPECT_EQ(std::to_string(index->malformed_records()), member_json(vector, "malformed")) << line;
  }
  EXPECT_GT(count, 10);
}

TEST(LogVectors, SplitsLinesLikeTheAgents) {
  compare_vectors("parse.jsonl");
}
TEST(LogVectors, SplitsRandomTextLikeTheAgents) {
  compare_vectors("parseFuzz.jsonl");
}

}  // namespace
}  // namespace arborfs::omp
