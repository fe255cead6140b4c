// The context of every session of the corpus, at its leaf and elsewhere, compared byte for byte with both generations
// of the agent, and of every log that omp 18.3.4 was asked about.
#include "core/formats/omp/context/context.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/hash.h"
#include "core/entry/tree.h"
#include "core/formats/omp/log/dialect.h"
#include "tests/support/corpus.h"

namespace arborfs::conformance {
namespace {

// A case where arborfs differs from the agents, with the reason.
struct Exception {
  std::string_view name;
  std::string_view reason;
};

// The agents serve a tampered blob, arborfs leaves its reference (CONTRACT.md 7.7): compared with an unchecked blob
// folder.
constexpr Exception kTamperedBlobs[] = {
    {"h-blob-corrupt", "the blob's bytes are not what its name says"},
};

// 13 follows references that 18 and arborfs leave unchanged (omp/FORMAT.md D7).
constexpr Exception kReferencesOf13[] = {
    {"h-blob-badref", "13 reads any path behind blob:sha256:"},
};

// The corpus' answers of generation 18 are those of 18.2.3, the rules here those of 18.3: it keeps the own date of a
// compaction with an Anthropic summary, and puts into historyRewriteAt the time that 18.2.3 used as the date.
constexpr Exception kDatedBy182[] = {
    {"w18-compaction-18", "18.2.3 puts the time of the rewrite in place of the compaction's own"},
};

template <std::size_t N>
bool is_listed(const Exception (&list)[N], std::string_view name) {
  return std::any_of(std::begin(list), std::end(list), [name](const Exception& e) { return e.name == name; });
}

std::string without_newlines(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  return text;
}

// The JSON text of the member `models` of a context. It comes after the messages, so the last match counts.
std::string models_of(const std::string& context) {
  json::Document document;
  EXPECT_TRUE(json::parse(context, document));
  const json::Value* models = json::member(document, "models");
  return models == nullptr ? "" : json::stringify(*models);
}

std::string with_models(std::string context, const std::string& models) {
  const std::string own = "\"models\":" + models_of(context);
  const std::size_t at = context.rfind(own);
  return at == std::string::npos ? context : context.replace(at, own.size(), "\"models\":" + models);
}

// The context of 18.2.3 with the first summary dated as by 18.3, if it is an Anthropic summary.
std::string redated(const json::Value& context, std::int64_t own_time) {
  std::string text = json::stringify(context);
  const json::Value& summary = (*json::member(context, "messages"))[0];
  const json::Value* payload = json::member(summary, "providerPayload");
  if (payload != nullptr && json::is_string(json::member(*payload, "type"), "anthropicCompaction")) {
    const std::string rewrite = json::stringify(*json::member(summary, "timestamp"));
    const std::string before = "\"timestamp\":" + rewrite + "}";
    text.replace(text.find(before), before.size(),
                 "\"historyRewriteAt\":" + rewrite + ",\"timestamp\":" + std::to_string(own_time) + "}");
  }
  return text;
}

class ContextConformance : public testing::TestWithParam<CorpusCase> {
 protected:
  void SetUp() override {
    session_ = open_session(GetParam());
    read_oracle(GetParam(), oracle_);
    if (is_13()) {
      read_oracle({GetParam().name, omp::Dialect::omp18}, oracle_18_);
    }
  }

  [[nodiscard]] std::string context_at(Ordinal leaf, bool with_checked_blobs) const {
    const ContextPath path = context_path(*session_.index, leaf);
    const auto blobs = std::make_shared<CorpusBlobs>(GetParam(), with_checked_blobs);
    auto content = omp::build_context(path, session_.log, blobs);
    if (!content) {
      ADD_FAILURE() << content.error().message;
      return {};
    }
    auto text = (*content)->read_all();
    if (!text) {
      ADD_FAILURE() << text.error().message;
      return {};
    }
    EXPECT_EQ(text->size(), (*content)->size());
    return *text;
  }

  // The models in an oracle's answer for one context: for the leaf, or a member of contextAt.
  static std::optional<std::string> models_in(const json::Value* answer) {
    for (const std::string_view key : {"context", "contextAbridged"}) {
      const json::Value* context = answer == nullptr ? nullptr : json::member(*answer, key);
      if (context != nullptr && json::member(*context, "models") != nullptr) {
        return json::stringify(*json::member(*context, "models"));
      }
    }
    return std::nullopt;
  }

  void check(Ordinal leaf, const json::Value& answer, const json::Value* answer_of_18) const;
  [[nodiscard]] std::string expected_hash(Ordinal leaf, const json::Value& answer) const;
  [[nodiscard]] bool is_13() const { return GetParam().dialect == omp::Dialect::omp13; }

  CorpusSession session_;
  json::Document oracle_;
  json::Document oracle_18_;
};

// The hash in the answer, adjusted where 18.3 differs from the agent that gave it.
std::string ContextConformance::expected_hash(Ordinal leaf, const json::Value& answer) const {
  const std::string hash(*json::string_member(answer, "contextSha256"));
  if (is_13() || !GetParam().oracle.empty() || !is_listed(kDatedBy182, GetParam().name)) {
    return hash;
  }
  const json::Value* context = json::member(answer, "context");
  EXPECT_EQ(sha256_hex(json::stringify(*context)), hash) << "the oracle does not spell this context out";
  const std::vector<Ordinal> path = path_to(*session_.index, leaf);
  const auto compaction = std::find_if(path.rbegin(), path.rend(), [this](Ordinal ordinal) {
    return session_.index->entry(ordinal).type == EntryType::compaction;
  });
  return compaction == path.rend() ? hash
                                   : sha256_hex(redated(*context, session_.index->entry(*compaction).timestamp_ms));
}

void ContextConformance::check(Ordinal leaf, const json::Value& answer, const json::Value* answer_of_18) const {
  const bool is_tampered = is_listed(kTamperedBlobs, GetParam().name);
  const std::string text = without_newlines(context_at(leaf, !is_tampered));
  const auto hash = json::string_member(answer, "contextSha256");
  if (!hash || (is_13() && is_listed(kReferencesOf13, GetParam().name))) {
    return;  // the agent crashed or never finished here
  }
  // 13's models contradict the documents; arborfs uses 18's, and 13's for everything else.
  const auto expected_models = models_in(&answer);
  const std::string compared = is_13() && expected_models ? with_models(text, *expected_models) : text;
  EXPECT_EQ(sha256_hex(compared), expected_hash(leaf, answer))
      << compared.substr(0, 4000) << "\nexpected\n"
      << json::stringify(*json::member(answer, "context")).substr(0, 4000);
  if (is_13()) {
    ASSERT_TRUE(expected_models) << "the oracle no longer tells 13's models";
    EXPECT_EQ(models_of(text), models_in(answer_of_18).value_or(*expected_models));
  }
}

TEST_P(ContextConformance, MatchesTheAgentsAtTheLeaf) {
  const bool is_comparable = json::is_string(json::member(oracle_, "outcome"), "ok");
  const bool is_18_comparable = json::is_string(json::member(oracle_18_, "outcome"), "ok");
  if (is_comparable) {
    check(session_.index->leaf(), oracle_, is_18_comparable ? &oracle_18_ : nullptr);
  } else {
    EXPECT_FALSE(context_at(session_.index->leaf(), true).empty());
  }
}

TEST_P(ContextConformance, MatchesTheAgentsAtOtherEntries) {
  const json::Value* answers = json::member(oracle_, "contextAt");
  if (answers == nullptr) {
    return;  // the agent could not open the log
  }
  const json::Value* answers_of_18 = json::member(oracle_18_, "contextAt");
  for (const auto& [id, answer] : answers->GetObject()) {
    SCOPED_TRACE(json::as_string(id));
    const Ordinal leaf = session_.index->find(json::as_string(id));
    ASSERT_NE(leaf, kNoEntry);
    check(leaf, answer, answers_of_18 == nullptr ? nullptr : json::member(*answers_of_18, json::as_string(id)));
  }
}

// Each message has its own line, so that line tools can read a context.
TEST_P(ContextConformance, HasALineForEachMessage) {
  const std::string text = context_at(session_.index->leaf(), true);
  json::Document document;
  ASSERT_TRUE(json::parse(text, document));
  const auto messages = json::member(document, "messages")->Size();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), messages + std::size_t{2});
  EXPECT_TRUE(text.starts_with("{\"messages\":[\n"));
  EXPECT_TRUE(text.ends_with("}\n"));
}

INSTANTIATE_TEST_SUITE_P(Corpus, ContextConformance, testing::ValuesIn(corpus_cases()),
                         [](const auto& test) { return test.param.title(); });
INSTANTIATE_TEST_SUITE_P(Newest, ContextConformance, testing::ValuesIn(newest_cases()),
                         [](const auto& test) { return test.param.title(); });

TEST(ContextBlobs, TamperedBlobLeavesTheReference) {
  for (const Exception& exception : kTamperedBlobs) {
    const CorpusCase corpus_case{std::string(exception.name), omp::Dialect::omp18};
    const CorpusSession session = open_session(corpus_case);
    const auto content = omp::build_context(context_path(*session.index, session.index->leaf()), session.log,
                                            std::make_shared<CorpusBlobs>(corpus_case, true));
    ASSERT_TRUE(content);
    const auto text = (*content)->read_all();
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("\"data\":\"blob:sha256:"), std::string::npos);
  }
}

}  // namespace
}  // namespace arborfs::conformance
