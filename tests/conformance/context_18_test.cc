// Rules of omp 18.3's context that tests/newest does not show.
#include <gtest/gtest.h>

#include <string>

#include "core/formats/omp/context/context.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/json/document.h"

namespace arborfs::conformance {
namespace {

constexpr std::string_view kHead =
    R"({"type":"title","v":1,"title":"","updatedAt":"2026-02-16T10:20:30.000Z","pad":" "})"
    "\n"
    R"({"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z"})"
    "\n";

// A log whose entries are e1, e2, ... , each the child of the one before.
class Log {
 public:
  Log& add(std::string_view type, const std::string& members) {
    const std::string parent = count_ == 0 ? "null" : "\"e" + std::to_string(count_) + "\"";
    bytes_ += R"({"type":")" + std::string(type) + R"(","id":"e)" + std::to_string(++count_) + R"(","parentId":)" +
              parent + "," + members + "}\n";
    return *this;
  }
  Log& say(const std::string& role, const std::string& text, const std::string& more = "") {
    return add("message", timed() + R"("message":{"role":")" + role + R"(","content":[{"type":"text","text":")" + text +
                              "\"}]" + more + "}");
  }
  Log& compact(const std::string& members) { return add("compaction", timed() + R"("summary":"S",)" + members); }
  Log& note(const std::string& data) {
    return add("custom", timed() + R"("customType":"experimental_context_notes","data":)" + data);
  }

  // The messages of the context at the end: role and text of each, and for a summary the time of the rewrite.
  [[nodiscard]] std::string shown() const {
    const std::shared_ptr<const LogSource> log = log_from_bytes(bytes_);
    const auto index = omp::reader().index(*log, {});
    EXPECT_TRUE(index && omp::dialect_of(**index) == omp::Dialect::omp18);
    const auto content = omp::build_context(context_path(**index, (*index)->leaf()), log, nullptr);
    json::Document context;
    EXPECT_TRUE(content && json::parse(*(*content)->read_all(), context));
    std::string out;
    for (const json::Value& message : json::member(context, "messages")->GetArray()) {
      out += out.empty() ? "" : " ";
      out += *json::string_member(message, "role");
      const json::Value* content_of = json::member(message, "content");
      if (content_of != nullptr && content_of->IsArray()) {
        out += ":" + std::string(*json::string_member((*content_of)[0], "text"));
      }
      if (const json::Value* at = json::member(message, "historyRewriteAt")) {
        out += "@" + json::stringify(*at);
      }
    }
    return out;
  }

 private:
  // The seconds of the timestamp are the entry's number.
  [[nodiscard]] std::string timed() const {
    return R"("timestamp":"1970-01-01T00:00:0)" + std::to_string(count_ + 1) + R"(.000Z",)";
  }
  std::string bytes_{kHead};
  int count_ = 0;
};

const std::string kAnthropic = R"("preserveData":{"anthropicCompaction":{"provider":"anthropic","content":"c"}})";

Log talk() {
  return Log().say("user", "one").say("assistant", "two").say("user", "three");
}

TEST(Context18Snapshot, KeepsEntriesAfterIt) {
  const std::string snapshot = R"("firstKeptEntryId":"","providerReplayThroughEntryId":)";
  EXPECT_EQ(talk().compact(snapshot + R"("e1",)" + kAnthropic).say("user", "five").shown(),
            "compactionSummary@1999 assistant:two user:three user:five");
  EXPECT_EQ(talk().compact(snapshot + R"("unknown",)" + kAnthropic).say("user", "five").shown(),
            "compactionSummary@4999 user:five");
  EXPECT_EQ(talk().compact(snapshot + R"("e5",)" + kAnthropic).say("user", "five").shown(),
            "compactionSummary@4999 user:five");
  EXPECT_EQ(talk().compact(snapshot + "\"\"," + kAnthropic).shown(), "compactionSummary");
  EXPECT_EQ(talk().compact(R"("firstKeptEntryId":"unknown","providerReplayThroughEntryId":"e1",)" + kAnthropic).shown(),
            "compactionSummary");
  EXPECT_EQ(talk().compact(snapshot + R"("e1","method":"soft")").say("user", "five").shown(),
            "compactionSummary user:five");
}

TEST(Context18Snapshot, InvalidSnapshotIsAnOrdinaryCompaction) {
  for (const char* anthropic : {R"({"content":"c"})", R"({"provider":"","content":"c"})", "1", "[]", "\"x\"",
                                R"({"provider":"p","content":5})"}) {
    EXPECT_EQ(
        talk()
            .compact(R"("firstKeptEntryId":"e3","preserveData":{"anthropicCompaction":)" + std::string(anthropic) + "}")
            .shown(),
        "compactionSummary user:three")
        << anthropic;
  }
}

TEST(Context18Snapshot, OmitsAnInvalidTime) {
  EXPECT_EQ(
      Log()
          .add("message", R"("timestamp":"never","message":{"role":"user","content":[{"type":"text","text":"x"}]})")
          .compact(R"("firstKeptEntryId":"e1",)" + kAnthropic)
          .shown(),
      "compactionSummary user:x");
}

TEST(Context18Notes, LastValidRevisionWins) {
  const std::string valid = R"({"version":1,"text":"t"})";
  for (const char* invalid :
       {R"({"version":2,"text":"t"})", R"({"version":1,"text":7})", R"({"version":1,"text":"","more":0})",
        R"({"version":"1","text":""})", R"({"version":1})", R"([1,""])", "null"}) {
    EXPECT_EQ(talk().note(valid).note(invalid).shown(), "custom user:one assistant:two user:three") << invalid;
    EXPECT_EQ(talk().note(invalid).shown(), "user:one assistant:two user:three") << invalid;
  }
  EXPECT_EQ(talk().note(valid).note(R"({"version":1,"text":""})").shown(), "user:one assistant:two user:three");
  EXPECT_EQ(talk().note(valid).compact(R"("firstKeptEntryId":"e3")").shown(), "custom compactionSummary user:three");
  EXPECT_EQ(talk().note(valid).add("reset_boundary", R"("timestamp":5)").say("user", "six").shown(), "user:six");
}

TEST(Context18Rollover, KeepsTheLastRequest) {
  const std::string rollover = R"("details":{"kind":"experimental-context-rollover"},"firstKeptEntryId":)";
  const auto log = [] { return talk().say("assistant", "four").say("assistant", "five"); };
  EXPECT_EQ(log().compact(rollover + "\"e5\"").shown(), "compactionSummary user:three assistant:five");
  EXPECT_EQ(log().compact(rollover + "\"e3\"").shown(), "compactionSummary user:three assistant:four assistant:five");
  EXPECT_EQ(log().compact(rollover + "\"unknown\"").shown(), "compactionSummary");
  EXPECT_EQ(log().compact(rollover + "\"e5\"," + kAnthropic).shown(),
            "compactionSummary@4999 user:three assistant:five");
  EXPECT_EQ(log()
                .compact(rollover + R"("e5","preserveData":{"openaiRemoteCompaction":{"provider":"openai",)" +
                         R"("replacementHistory":[]}})")
                .shown(),
            "compactionSummary user:three");
  EXPECT_EQ(Log()
                .say("user", "one")
                .say("custom", "typed", R"(,"customType":"skill-prompt","attribution":"user")")
                .say("custom", "made", R"(,"customType":"skill-prompt","attribution":"agent")")
                .say("assistant", "four")
                .compact(rollover + "\"e4\"")
                .shown(),
            "compactionSummary custom:typed assistant:four");
}

}  // namespace
}  // namespace arborfs::conformance
