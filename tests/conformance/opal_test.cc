// Opal's logs read by Opal's rules: tests/opal/expected.json holds the results of an independent reader for
// tests/opal/sessions.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/entry/record_renderer.h"
#include "core/entry/tree.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/opal/format.h"
#include "core/json/document.h"
#include "core/log/log_reader.h"
#include "tests/support/paths.h"

namespace arborfs::conformance {
namespace {

const std::filesystem::path kSamples = std::filesystem::path(tests::kTestData) / "opal";

std::string opal_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Texts = std::vector<std::string>;

class OpalLog {
 public:
  explicit OpalLog(std::string bytes) : log_(log_from_bytes(std::move(bytes))) {
    auto index = opal::format().reader->index(*log_, {});
    EXPECT_TRUE(index);
    index_ = std::move(*index);
  }

  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] std::string id(Ordinal ordinal) const { return ordinal == kNoEntry ? "" : index_->id(ordinal).text; }
  [[nodiscard]] Texts ids(const std::vector<Ordinal>& ordinals) const {
    Texts found;
    std::transform(ordinals.begin(), ordinals.end(), std::back_inserter(found), [this](Ordinal o) { return id(o); });
    return found;
  }
  [[nodiscard]] Texts order() const {
    Texts found;
    for (Ordinal ordinal = 1; ordinal <= index_->size(); ++ordinal) {
      found.push_back(id(ordinal));
    }
    return found;
  }
  [[nodiscard]] Texts path() const { return ids(path_to(*index_, index_->leaf())); }
  template <class Condition>
  [[nodiscard]] Texts sorted_ids(Condition condition) const {
    std::set<std::string> found;
    for (Ordinal ordinal = 1; ordinal <= index_->size(); ++ordinal) {
      if (condition(ordinal)) {
        found.insert(id(ordinal));
      }
    }
    return {found.begin(), found.end()};
  }
  [[nodiscard]] std::string raw(Ordinal ordinal) const {
    const auto bytes = log_->read(index_->entry(ordinal).offset, index_->length(ordinal));
    EXPECT_TRUE(bytes);
    return bytes ? *bytes : "";
  }
  [[nodiscard]] std::string text(Ordinal ordinal) const {
    std::string out;
    opal::format().renderer->render(index_->entry(ordinal).type, raw(ordinal), out);
    EXPECT_EQ(opal::format().renderer->measure(index_->entry(ordinal).type, raw(ordinal)).size, out.size());
    return out;
  }
  [[nodiscard]] std::string context() const {
    const auto content = opal::format().renderer->context(context_path(*index_, index_->leaf()), log_, nullptr);
    EXPECT_TRUE(content);
    const auto all = content ? (*content)->read_all() : Result<std::string>(content.error());
    return all ? *all : "";
  }

 private:
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
};

Texts texts_of(const json::Value& session, std::string_view key) {
  Texts found;
  for (const json::Value& value : json::member(session, key)->GetArray()) {
    found.emplace_back(value.IsString() ? json::as_string(value) : "");
  }
  return found;
}

void expect_tree(const OpalLog& log, const json::Value& wanted) {
  const LogIndex& index = log.index();
  EXPECT_EQ(index.size(), json::member(wanted, "entries")->GetDouble());
  EXPECT_EQ(log.sorted_ids([&](Ordinal o) { return index.parent(o) == kNoEntry; }), texts_of(wanted, "roots"));
  EXPECT_EQ(log.sorted_ids([&](Ordinal o) { return index.is_orphan(o); }), texts_of(wanted, "dangling"));
  EXPECT_EQ(log.sorted_ids([&](Ordinal o) { return index.is_tip(o); }), texts_of(wanted, "leaves"));
  EXPECT_EQ(log.id(index.leaf()), json::string_member(wanted, "activeLeaf").value_or(""));
  EXPECT_EQ(log.path(), texts_of(wanted, "activePath"));
}

/// `texts` are the contents of the path, "" for null; `kinds` the types of all messages.
void expect_messages(const OpalLog& log, const json::Value& wanted) {
  json::Document context;
  ASSERT_TRUE(json::parse(log.context(), context));
  Texts contents;
  for (const json::Value& message : json::member(context, "messages")->GetArray()) {
    contents.emplace_back(json::string_member(message, "content").value_or(""));
  }
  EXPECT_EQ(contents, texts_of(wanted, "texts"));
  std::set<std::string> kinds;
  for (Ordinal ordinal = 1; ordinal <= log.index().size(); ++ordinal) {
    const std::string type(log.index().type_text(ordinal));
    kinds.insert(type == "compaction" ? "compaction_summary" : type);
  }
  EXPECT_EQ(Texts(kinds.begin(), kinds.end()), texts_of(wanted, "kinds"));
}

TEST(OpalSamples, TreesPathsAndTextsEqualTheExpectedOnes) {
  json::Document all;
  ASSERT_TRUE(json::parse(opal_bytes(kSamples / "expected.json"), all));
  EXPECT_EQ(all.GetArray().Size(), 4U);
  for (const json::Value& wanted : all.GetArray()) {
    const std::string id(*json::string_member(wanted, "id"));
    SCOPED_TRACE(id);
    const OpalLog log(opal_bytes(kSamples / "sessions" / (id + ".jsonl")));
    EXPECT_TRUE(log.index().header().valid);
    EXPECT_EQ(log.index().header().id, id);
    EXPECT_EQ(log.index().header().title, json::string_member(wanted, "title").value_or(""));
    EXPECT_TRUE(log.index().damage().empty());
    expect_tree(log, wanted);
    expect_messages(log, wanted);
  }
}

TEST(OpalSamples, ParentsComeBeforeChildrenAndTheCurrentPathLast) {
  for (const auto& file : std::filesystem::directory_iterator(kSamples / "sessions")) {
    const OpalLog log(opal_bytes(file.path()));
    for (Ordinal ordinal = 1; ordinal <= log.index().size(); ++ordinal) {
      EXPECT_LT(log.index().parent(ordinal), ordinal) << file.path();
    }
    if (log.index().is_tip(log.index().leaf())) {
      EXPECT_EQ(log.index().leaf(), log.index().size()) << file.path();
    }
  }
}

std::string opal_header(const std::string& current) {
  return R"({"current_id":)" + current +
         R"(,"metadata":{},"session_id":"s"})"
         "\n";
}

std::string opal_message(const std::string& id, const std::string& parent) {
  return R"({"content":"of )" + id + R"(","id":")" + id + R"(","is_error":false,"parent_id":)" +
         (parent.empty() ? "null" : '"' + parent + '"') +
         R"(,"role":"user"})"
         "\n";
}

TEST(OpalReader, LeafIsTheHeadersCurrentId) {
  const std::string lines = opal_message("b", "a") + opal_message("a", "") + opal_message("c", "a");
  EXPECT_EQ(OpalLog(opal_header("\"b\"") + lines).path(), (Texts{"a", "b"}));
  EXPECT_EQ(OpalLog(opal_header("\"b\"") + lines).order(), (Texts{"a", "c", "b"}));
  EXPECT_EQ(OpalLog(opal_header("\"a\"") + lines).order(), (Texts{"a", "b", "c"}));
  EXPECT_EQ(OpalLog(opal_header("null") + lines).path(), Texts());
  EXPECT_EQ(OpalLog(opal_header("\"gone\"") + lines).path(), Texts());
}

TEST(OpalReader, LongestPathCountsWithoutCurrentId) {
  const std::string header = R"({"metadata":{"title":"T"}})"
                             "\n";
  const OpalLog log(header + opal_message("c", "b") + opal_message("x", "a") + opal_message("b", "a") +
                    opal_message("a", ""));
  EXPECT_EQ(log.path(), (Texts{"a", "b", "c"}));
  EXPECT_EQ(log.index().header().title, "T");
}

TEST(OpalReader, LoopsOfParentsAreListedAndEnd) {
  const OpalLog log(opal_header("\"r\"") + opal_message("a", "b") + opal_message("b", "a") + opal_message("r", ""));
  EXPECT_EQ(log.order(), (Texts{"a", "b", "r"}));
  EXPECT_EQ(log.path(), Texts{"r"});
  const OpalLog looped(opal_header("\"a\"") + opal_message("a", "b") + opal_message("b", "a"));
  EXPECT_EQ(looped.index().size(), 2U);
  EXPECT_EQ(looped.path().size(), 2U);
}

TEST(OpalReader, LastLineOfAnIdCounts) {
  const std::string first = opal_message("a", "");
  const std::string second = R"({"content":"second","id":"a","is_error":false,"parent_id":null,"role":"user"})"
                             "\n";
  const OpalLog log(opal_header("\"a\"") + first + second);
  EXPECT_EQ(log.index().size(), 1U);
  EXPECT_EQ(log.text(1), "second\n");
  ASSERT_EQ(log.index().damage().size(), 1U);
  EXPECT_EQ(log.index().damage()[0].kind, Damage::Kind::duplicate);
  EXPECT_EQ(log.index().damage()[0].offset, opal_header("\"a\"").size());
}

TEST(OpalReader, BadLinesAreDamage) {
  const std::string torn = R"({"content":"half)";
  const OpalLog log(opal_header("\"a\"") + "not json\n\r\n[1]\n" + opal_message("a", "") + torn);
  EXPECT_EQ(log.order(), Texts{"a"});
  const auto damage = log.index().damage();
  ASSERT_EQ(damage.size(), 2U);
  EXPECT_EQ(damage[0].kind, Damage::Kind::malformed);
  EXPECT_EQ(damage[0].length, 8U);
  EXPECT_EQ(damage[1].kind, Damage::Kind::unfinished);
  EXPECT_EQ(damage[1].length, torn.size());
  EXPECT_TRUE(damage[1].in_progress);
  EXPECT_EQ(log.index().not_shown().by_type(), (RecordCounts::ByType{{"value", 1}}));
}

TEST(OpalReader, MessageInTheFirstLineIsNoHeader) {
  const OpalLog log(opal_message("a", "") + opal_message("b", "a"));
  EXPECT_FALSE(log.index().header().valid);
  EXPECT_NE(log.index().header().problem, "");
  EXPECT_EQ(log.path(), (Texts{"a", "b"}));
  EXPECT_FALSE(OpalLog("").index().header().valid);
  EXPECT_FALSE(OpalLog("torn").index().header().valid);
}

TEST(OpalTexts, ShowThinkingCallsAndErrors) {
  const std::string lines =
      R"({"content":"I look.","id":"a","is_error":false,"parent_id":null,"role":"assistant","thinking":"Hm.",)"
      R"("tool_calls":[{"arguments":{"path":"x.ex"},"call_id":"1","name":"read_file"}]})"
      "\n"
      R"({"content":"no such file","id":"b","is_error":true,"parent_id":"a","role":"tool_result"})"
      "\n"
      R"({"content":"{\"q\":1}","id":"c","is_error":false,"parent_id":"b","role":"tool_call","name":"grep"})"
      "\n";
  const OpalLog log(opal_header("\"c\"") + lines);
  EXPECT_EQ(log.text(1), "> Hm.\n\nI look.\n\n```\nread_file\npath: x.ex\n```\n");
  EXPECT_EQ(log.text(2), "**error**\n\n```\nno such file\n```\n");
  EXPECT_EQ(log.text(3), "```\ngrep\nq: 1\n```\n");
  EXPECT_EQ(opal::format().renderer->first_words(EntryType::message, log.raw(1), 60),
            "Hm.  I look.  read_file path: x.ex");
}

}  // namespace
}  // namespace arborfs::conformance
