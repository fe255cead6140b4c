// pi's logs read by pi's rules: tests/pi/expected.json holds the results of pi's own session manager for
// tests/pi/sessions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/entry/tree.h"
#include "core/entry/usage.h"
#include "core/formats/omp/context/context.h"
#include "core/formats/omp/context/renderer.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"
#include "core/log/log_file.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"

namespace arborfs::conformance {
namespace {

using arborfs::testing::TempStore;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Texts in JSON, joined where there are several.
std::string text_of(const json::Value& message) {
  if (const auto summary = json::string_member(message, "summary")) {
    return std::string(*summary);
  }
  const json::Value* content = json::member(message, "content");
  if (content == nullptr || content->IsString()) {
    return std::string(json::string_member(message, "content").value_or(""));
  }
  std::string text;
  for (const json::Value& block : content->GetArray()) {
    text += json::string_member(block, "text").value_or("");
  }
  return text;
}

class PiLog {
 public:
  explicit PiLog(std::string bytes) : log_(log_from_bytes(std::move(bytes))) {
    auto index = omp::reader().index(*log_, {});
    EXPECT_TRUE(index);
    index_ = std::move(*index);
  }

  [[nodiscard]] const LogIndex& index() const { return *index_; }
  [[nodiscard]] const LogSource& log() const { return *log_; }
  /// An entry's id, or its number in a log without ids.
  [[nodiscard]] std::string name(Ordinal ordinal) const {
    return index_->gives_ids() ? std::to_string(ordinal) : '"' + index_->id(ordinal).text + '"';
  }
  [[nodiscard]] std::string context() const {
    const auto content = omp::build_context(context_path(*index_, index_->leaf()), log_, nullptr);
    EXPECT_TRUE(content);
    const auto text = content ? (*content)->read_all() : Result<std::string>(content.error());
    EXPECT_TRUE(text);
    return text ? *text : "";
  }
  /// [[role, text], ...]
  [[nodiscard]] std::string conversation() const {
    json::Document context;
    EXPECT_TRUE(json::parse(this->context(), context));
    std::string out;
    for (const json::Value& message : json::member(context, "messages")->GetArray()) {
      out += (out.empty() ? "[" : ",[") + json::stringify_string(*json::string_member(message, "role")) + "," +
             json::stringify_string(text_of(message)) + "]";
    }
    return "[" + out + "]";
  }

 private:
  std::shared_ptr<const LogSource> log_;
  std::unique_ptr<LogIndex> index_;
};

std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : ",") + word;
  }
  return "[" + out + "]";
}

std::string labels_of(const LogIndex& index) {
  std::string out;
  for (const Label& label : index.labels()) {
    out +=
        (out.empty() ? "" : ",") + json::stringify_string(label.target.text) + ":" + json::stringify_string(label.text);
  }
  return "{" + out + "}";
}

TEST(PiConformance, LogsAreReadLikePi) {
  const std::filesystem::path folder = std::filesystem::path(tests::kTestData) / "pi";
  json::Document expected;
  ASSERT_TRUE(json::parse(bytes_of(folder / "expected.json"), expected));
  ASSERT_EQ(expected.Size(), 7U);
  for (const json::Value& session : expected.GetArray()) {
    const std::string file(*json::string_member(session, "file"));
    SCOPED_TRACE(file);
    const PiLog pi(bytes_of(folder / "sessions" / file));
    const LogIndex& index = pi.index();
    const auto want = [&](std::string_view key) { return json::stringify(*json::member(session, key)); };
    EXPECT_EQ(omp::dialect_of(index), omp::Dialect::pi);
    EXPECT_EQ(json::stringify_string(index.header().title), want("title"));
    EXPECT_EQ(std::to_string(index.size()), want("entries"));
    EXPECT_EQ(pi.name(index.leaf()), want("leaf"));
    EXPECT_EQ(labels_of(index), want("labels"));
    std::vector<std::string> path;
    for (const Ordinal ordinal : path_to(index, index.leaf())) {
      path.push_back(pi.name(ordinal));
    }
    EXPECT_EQ(list_of(path), want("path"));
    EXPECT_EQ(pi.conversation(), want("context"));
    const auto header = omp::read_header(pi.log());
    ASSERT_TRUE(header);
    EXPECT_EQ(header->title, index.header().title) << "the head alone says the same";
    EXPECT_EQ(header->json, index.header().json);
  }
}

/// A log of pi 1.5 whose entries are e1, e2, ..., each the child of the one before.
class Log {
 public:
  Log& add(std::string_view type, const std::string& members) {
    const std::string parent = count_ == 0 ? "null" : "\"e" + std::to_string(count_) + "\"";
    bytes_ += R"({"type":")" + std::string(type) + R"(","id":"e)" + std::to_string(++count_) + R"(","parentId":)" +
              parent + R"(,"timestamp":"2026-02-16T10:20:30.000Z",)" + members + "}\n";
    return *this;
  }
  Log& say(const std::string& role, const std::string& content, const std::string& more = "") {
    return add("message", R"("message":{"role":")" + role + R"(","content":)" + content + more + "}");
  }
  [[nodiscard]] PiLog read() const { return PiLog(bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = R"({"type":"session","version":3,"id":"01a1ffda-dc19-779e-873a-5cc104ef1649","cwd":"/w"})"
                       "\n";
  int count_ = 0;
};

TEST(PiConformance, ContextMatchesPisObject) {
  const std::string text = R"([{"type":"text","text":"hi"}])";
  EXPECT_EQ(Log().say("user", text).read().context(),
            R"({"messages":[
{"role":"user","content":[{"type":"text","text":"hi"}]}
],"thinkingLevel":"off","model":null}
)");
  EXPECT_EQ(Log()
                .add("model_change", R"("provider":"p","modelId":"m")")
                .add("thinking_level_change", R"("thinkingLevel":"high")")
                .read()
                .context(),
            R"({"messages":[
],"thinkingLevel":"high","model":{"provider":"p","modelId":"m"}}
)");
  EXPECT_EQ(Log()
                .add("model_change", R"("provider":"p","modelId":"m")")
                .say("assistant", "null", R"(,"provider":"q","model":"n")")
                .read()
                .context(),
            R"({"messages":[
{"role":"assistant","content":[],"provider":"q","model":"n"}
],"thinkingLevel":"off","model":{"provider":"q","modelId":"n"}}
)");
}

TEST(PiConformance, LastEditOfAnEntryWins) {
  Log log;
  log.say("user", R"("one")").say("assistant", R"([{"type":"text","text":"two"}])").say("user", R"("three")");
  log.add("context_edit", R"("targetId":"e1","replacement":null)");
  log.add("context_edit", R"("targetId":"e2","replacement":{"content":"other"})");
  log.add("context_edit", R"("targetId":"e1","replacement":{"content":"again"})");
  log.add("context_edit", R"("targetId":"e3","replacement":null)");
  EXPECT_EQ(log.read().context(), R"({"messages":[
{"role":"user","content":"again"},
{"role":"assistant","content":[{"type":"text","text":"other"}]}
],"thinkingLevel":"off","model":{}}
)");
}

TEST(PiConformance, EditsChangeConversationOnly) {
  Log log;
  log.say("bashExecution", R"("b")").add("custom_message", R"("customType":"c","content":"d","display":true)");
  log.add("context_edit", R"("targetId":"e1","replacement":null)");
  log.add("context_edit", R"("targetId":"e2","replacement":{"content":"e"})");
  log.add("context_edit", R"("targetId":"nobody","replacement":null)");
  EXPECT_EQ(log.read().conversation(), R"([["bashExecution","b"],["custom","e"]])");
}

TEST(PiConformance, CompactionReplacesTheSystemPrompt) {
  Log log;
  log.say("system", R"("")", R"(,"sections":{"tools":"t"})").say("user", R"("one")").say("user", R"("two")");
  log.add("compaction", R"("summary":"S","firstKeptEntryId":"e1","tokensBefore":5,)"
                        R"("systemMessage":{"role":"system","content":null,"sections":{}})");
  log.say("system", R"("new")").say("user", R"("three")");
  EXPECT_EQ(log.read().conversation(), R"([["system",""],["compactionSummary","S"],["user","one"],["user","two"],)"
                                       R"(["system","new"],["user","three"]])");
  Log nothing_kept;
  nothing_kept.say("user", R"("one")").add("compaction", R"("summary":"S","firstKeptEntryId":"e2","tokensBefore":5)");
  EXPECT_EQ(nothing_kept.read().conversation(), R"([["compactionSummary","S"]])");
}

TEST(PiConformance, CompactionDropsEarlierEdits) {
  Log log;
  log.say("user", R"("one")").add("context_edit", R"("targetId":"e1","replacement":null)").say("user", R"("two")");
  log.add("compaction", R"("summary":"S","firstKeptEntryId":"e3","tokensBefore":5)");
  EXPECT_EQ(log.read().conversation(), R"([["compactionSummary","S"],["user","two"]])");
}

TEST(PiConformance, LastNameIsTheTitle) {
  const auto title_of = [](const Log& log) {
    const PiLog pi = log.read();
    const auto header = omp::read_header(pi.log());
    EXPECT_TRUE(header);
    EXPECT_EQ(header->title, pi.index().header().title);
    return pi.index().header().title;
  };
  EXPECT_EQ(title_of(Log().add("session_info", R"("name":"  first ")")), "first");
  EXPECT_EQ(title_of(Log().add("session_info", R"("name":"first")").add("session_info", R"("name":"second")")),
            "second");
  EXPECT_EQ(title_of(Log().add("session_info", R"("name":"first")").add("session_info", R"("name":"")")), "");
  EXPECT_EQ(title_of(Log().add("session_info", R"("name":"first")").say("user", R"("\"session_info\"")")), "first");
  EXPECT_EQ(title_of(Log().say("user", "\"" + std::string(3'000'000, 'x') + "\"")), "");
  EXPECT_EQ(
      title_of(Log().add("session_info", R"("name":"far")").say("user", "\"" + std::string(3'000'000, 'x') + "\"")),
      "far");
}

TEST(PiConformance, HeadFindsTitlesNearTheEndOnly) {
  const PiLog pi =
      Log().add("session_info", R"("name":"far")").say("user", "\"" + std::string(5'000'000, 'x') + "\"").read();
  EXPECT_EQ(pi.index().header().title, "far");
  const auto header = omp::read_header(pi.log());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->title, "");
  EXPECT_FALSE(header->is_named);
}

TEST(PiConformance, LineThatRepeatsTheTypeIsReadOnce) {
  std::string words = "\"\"";
  for (int i = 0; i < 200'000; ++i) {
    words += R"(,"session_info")";
  }
  const PiLog pi = Log().add("session_info", R"("name":"named")").add("custom", R"("data":[)" + words + "]").read();
  const auto header = omp::read_header(pi.log());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->title, "named");
}

TEST(PiConformance, CommandsGetNoInventedContent) {
  EXPECT_NE(Log()
                .add("message", R"("message":{"role":"bashExecution","command":"ls"})")
                .read()
                .context()
                .find(R"({"role":"bashExecution","command":"ls"})"),
            std::string::npos);
}

TEST(PiConformance, UsageMatchesPi) {
  const std::string usage =
      R"({"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"total":0.5}})";
  Log log;
  log.say("assistant", "[]", R"(,"usage":)" + usage).add("usage", R"("kind":"k","usage":)" + usage);
  log.add("compaction", R"("summary":"s","usage":)" + usage);
  log.say("toolResult", "[]", R"(,"toolName":"task","details":{"usage":)" + usage + "}");
  const PiLog pi = log.read();
  UsageTotals totals;
  for (Ordinal ordinal = 1; ordinal <= pi.index().size(); ++ordinal) {
    const Entry& entry = pi.index().entry(ordinal);
    if (const auto used = omp::find_usage(entry.type, *pi.log().read(entry.offset, entry.length))) {
      totals.add(*used);
    }
  }
  EXPECT_EQ(omp::usage_json(totals, omp::Dialect::omp13),
            R"({"input":2,"output":4,"cacheRead":0,"cacheWrite":0,"premiumRequests":0,"cost":1})");
  EXPECT_EQ(omp::usage_json(totals, omp::Dialect::pi),
            R"({"input":3,"output":6,"cacheRead":0,"cacheWrite":0,"totalTokens":9,"cost":1.5})");
}

TEST(PiConformance, TitleFollowsAGrowingLog) {
  TempStore temp;
  Log log;
  log.say("user", R"("one")");
  temp.write("-w", "log", log.bytes());
  const auto folder = Dir::open_root(temp.sessions() / "-w");
  ASSERT_TRUE(folder);
  const auto opened = LogFile::open(*folder, "log.jsonl");
  ASSERT_TRUE(opened);
  auto index = omp::reader().index(**opened, {});
  ASSERT_TRUE(index);
  EXPECT_EQ((*index)->header().title, "");
  temp.append("-w", "log",
              R"({"type":"session_info","id":"e2","parentId":"e1","name":"named"})"
              "\n");
  auto growth = (*index)->read_growth(**opened);
  ASSERT_TRUE(growth && *growth);
  (*index)->apply(std::move(*growth));
  EXPECT_EQ((*index)->header().title, "named");
  EXPECT_EQ(omp::dialect_of(**index), omp::Dialect::pi);
}

TEST(PiConformance, GrowthThatChangesTheDialectIsReadAgain) {
  TempStore temp;
  temp.write("-w", "log", TempStore::header("1470cb256c2cc772", "/w") + "\n" + TempStore::user("e1", "", "one") + "\n");
  const auto folder = Dir::open_root(temp.sessions() / "-w");
  ASSERT_TRUE(folder);
  const auto opened = LogFile::open(*folder, "log.jsonl");
  ASSERT_TRUE(opened);
  const auto index = omp::reader().index(**opened, {});
  ASSERT_TRUE(index);
  EXPECT_EQ(omp::dialect_of(**index), omp::Dialect::omp13);
  temp.append("-w", "log",
              R"({"type":"model_change","id":"e2","parentId":"e1","provider":"p","modelId":"m"})"
              "\n");
  const auto growth = (*index)->read_growth(**opened);
  ASSERT_TRUE(growth);
  EXPECT_FALSE(*growth);
}

}  // namespace
}  // namespace arborfs::conformance
