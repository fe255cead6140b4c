// How an entry changes on its way to disk, compared with the answers of both agents (_vectors/persist.jsonl).

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/formats/omp/edit/persist.h"
#include "core/formats/omp/log/dialect.h"
#include "tests/support/replay_ops.h"
#include "tests/unit/json_test_support.h"

namespace arborfs::omp {
namespace {

struct Persisted {
  std::string text;
  std::vector<PendingBlob> blobs;
};

Persisted persisted(const json::Value& input, Dialect dialect) {
  json::Document owner;
  json::Value value = conformance::expand_macros(input, owner);
  Persisted result;
  persist(value, owner, dialect, result.blobs);
  json::stringify(value, result.text);
  return result;
}

Persisted persisted(std::string_view text, Dialect dialect) {
  json::Document input;
  EXPECT_TRUE(json::parse(text, input));
  return persisted(input, dialect);
}

void expect_answer(const json::Value& answer, const Persisted& result) {
  if (const auto output = json::string_member(answer, "output")) {
    EXPECT_EQ(result.text, *output);
  } else {
    EXPECT_EQ(static_cast<double>(result.text.size()), json::member(answer, "outputBytes")->GetDouble());
    EXPECT_TRUE(result.text.ends_with(*json::string_member(answer, "outputTail")));
    EXPECT_EQ(sha256_hex(result.text), *json::string_member(answer, "outputSha256"));
  }
  const json::Value* blobs = json::member(answer, "blobs");
  ASSERT_EQ(result.blobs.size(), blobs == nullptr ? 0 : blobs->Size());
  for (std::size_t i = 0; i < result.blobs.size(); ++i) {
    const json::Value& blob = (*blobs)[static_cast<rapidjson::SizeType>(i)];
    EXPECT_EQ(result.blobs[i].hash, *json::string_member(blob, "sha256"));
    EXPECT_EQ(static_cast<double>(result.blobs[i].bytes.size()), json::member(blob, "size")->GetDouble());
    EXPECT_EQ(sha256_hex(result.blobs[i].bytes), result.blobs[i].hash);
  }
}

TEST(WritePersist, MatchesTheAgents) {
  std::size_t compared = 0;
  json::testing::for_each_vector("persist.jsonl", [&](const json::Value& vector) {
    const json::Value& input = *json::member(vector, "input");
    for (const Dialect dialect : {Dialect::omp13, Dialect::omp18}) {
      const json::Value* answer = json::member(vector, "both");
      if (answer == nullptr) {
        answer = json::member(vector, dialect == Dialect::omp13 ? "v13" : "v18");
      }
      ASSERT_NE(answer, nullptr);
      SCOPED_TRACE(dialect == Dialect::omp13 ? "13" : "18");
      expect_answer(*answer, persisted(input, dialect));
      ++compared;
    }
  });
  EXPECT_GE(compared, 80U);
}

TEST(WritePersist, ListsEachBlobOnce) {
  const std::string image = R"({"type":"image","data":{"$b64":[900,5]}})";
  const auto result = persisted(R"({"content":[)" + image + "," + image + "]}", Dialect::omp13);
  EXPECT_EQ(result.blobs.size(), 1U);
  json::Document owner;
  json::Document input;
  ASSERT_TRUE(json::parse(R"({"content":[)" + image + "]}", input));
  json::Value value = conformance::expand_macros(input, owner);
  auto blobs = result.blobs;
  persist(value, owner, Dialect::omp13, blobs);
  EXPECT_EQ(blobs.size(), 1U);
}

TEST(WritePersist, DropsOneHighSurrogateAtTheCut) {
  // The pair is cut in two and its half is dropped; the lone half before it stays.
  const auto result = persisted(R"({"$cat":[{"$rep":["a",499951]},"\ud83d",{"$rep":["😀",30]}]})", Dialect::omp13);
  EXPECT_TRUE(result.text.ends_with("aa\\ud83d\\n\\n[Session persistence truncated large content]\""));
}

TEST(WritePersist, KeepsContentThatProvidersVerify) {
  const auto kept = [](const std::string& object) {
    return persisted(object, Dialect::omp18).text.find("truncated large content") == std::string::npos;
  };
  const std::string big = R"({"$rep":["x",500001]})";
  EXPECT_TRUE(kept(R"({"type":"text","text":)" + big + R"(,"textSignature":"S"})"));
  EXPECT_FALSE(kept(R"({"type":"text","text":)" + big + R"(,"textSignature":""})"));
  EXPECT_TRUE(kept(R"({"type":"toolCall","arguments":{"a":)" + big + R"(},"thoughtSignature":"S"})"));
  EXPECT_FALSE(kept(R"({"type":"toolCall","arguments":{"a":)" + big + R"(}})"));
  const std::string result = R"({"type":"web_search_tool_result","tool_use_id":"t","content":)" + big + "}";
  EXPECT_TRUE(kept(R"({"type":"anthropicServerTool","block":)" + result + "}"));
  EXPECT_FALSE(
      kept(R"({"type":"anthropicServerTool","block":{"type":"web_search_tool_result","content":)" + big + "}}"));
}

TEST(WritePersist, DoesNotRecurse) {
  json::testing::on_small_stack([] {
    constexpr int kDepth = 200'000;
    std::string text;
    for (int i = 0; i < kDepth; ++i) {
      text += i % 2 == 0 ? "[" : R"({"a":)";
    }
    text += R"({"jsonlEvents":1})";
    for (int i = kDepth; i-- > 0;) {
      text += i % 2 == 0 ? "]" : "}";
    }
    json::Document value;
    ASSERT_TRUE(json::parse(text, value));
    std::vector<PendingBlob> blobs;
    persist(value, value, Dialect::omp18, blobs);
    std::string out;
    json::stringify(value, out);
    EXPECT_EQ(out.size(), text.size() - std::string(R"("jsonlEvents":1)").size());
  });
}

}  // namespace
}  // namespace arborfs::omp
