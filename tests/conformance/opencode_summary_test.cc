// Summaries of runs that arborfs writes to sessions of OpenCode (opencode/FORMAT.md G6), in both kinds of stores.
#include <gtest/gtest.h>

#include "tests/support/opencode_database.h"

namespace arborfs {
namespace {

using conformance::OpenCodeSession;
using conformance::WritesToOpenCode;

constexpr const char* kText =
    "--- Fro Bot Run Summary ---\n"
    "Event: issue_comment\n"
    "Repo: o/r\n"
    "Ref: refs/heads/main\n"
    "Run ID: 42\n"
    "Cache: hit\n"
    "Duration: 7s\n"
    "Sessions used: ses_1, ses_2\n"
    "PRs created: #5\n"
    "Commits: abc123\n"
    "Tokens: 10 in / 20 out";

class Summarizes : public WritesToOpenCode, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Stores, Summarizes, ::testing::Values("files", "first-sqlite-1.2.1", "fresh-1.18.33"));

TEST_P(Summarizes, ItIsAMessageForNoAgent) {
  open(GetParam(), "Greeting script (renamed)");
  const OpenCodeSession before(session->store(), session->place());
  const auto size = before.index().size();
  const auto written = writer->summarize(session, kText);
  ASSERT_TRUE(written) << written.error().message;
  const OpenCodeSession now(session->store(), session->place());
  ASSERT_EQ(now.index().size(), size + 1);
  json::Document entry;
  ASSERT_TRUE(json::parse(now.raw(now.index().leaf()), entry));
  const json::Value& info = *json::member(entry, "info");
  const std::string time = json::stringify(*json::member(*json::member(info, "time"), "created"));
  EXPECT_EQ(conformance::word(info, "id"), written->id);
  EXPECT_EQ(conformance::word(info, "sessionID"), id());
  EXPECT_NE(json::stringify(info).find(R"("role":"user","time":{"created":)" + time +
                                       R"(},"summary":{"title":"GitHub Action Run Summary","diffs":[]},)" +
                                       R"("agent":"fro-bot","model":{"providerID":"system","modelID":"run-summary"})"),
            std::string::npos)
      << json::stringify(info);
  const json::Value& part = json::member(entry, "parts")->GetArray()[0];
  EXPECT_EQ(conformance::word(part, "text"), kText);
  EXPECT_EQ(json::stringify(*json::member(part, "time")), "{\"start\":" + time + ",\"end\":" + time + "}");
  EXPECT_EQ(json::stringify(now.header()), json::stringify(before.header())) << "a summary is no use of the session";
}

/// The next message of the user goes to the model of the conversation, not to that of the summary.
TEST_P(Summarizes, TheConversationGoesOnWithItsOwnModel) {
  open(GetParam(), "Greeting script (renamed)");
  ASSERT_TRUE(writer->summarize(session, "a text of one's own"));
  const auto next = writer->append_text(session, {"go on", false, ""});
  ASSERT_TRUE(next) << next.error().message;
  const OpenCodeSession now(session->store(), session->place());
  json::Document entry;
  ASSERT_TRUE(json::parse(now.raw(now.index().leaf()), entry));
  EXPECT_EQ(json::stringify(*json::member(*json::member(entry, "info"), "model")),
            R"({"providerID":"mock","modelID":"mock-1"})");
  EXPECT_NE(now.text(now.index().leaf() - 1).find("a text of one's own"), std::string::npos);
}

TEST_P(Summarizes, WithoutATextItTellsWhatTheMessagesSay) {
  open(GetParam(), "Explore with subagent");
  const std::string child = titled("Explore repo (@explore subagent)")->stem();
  ASSERT_TRUE(writer->summarize(session, ""));
  const OpenCodeSession now(session->store(), session->place());
  const std::string text = now.text(now.index().leaf());
  EXPECT_NE(text.find("--- Fro Bot Run Summary ---\nDuration: "), std::string::npos) << text;
  EXPECT_NE(text.find("\nSessions used: " + id() + ", " + child + "\nTokens: "), std::string::npos) << text;
}

/// OpenCode defines no JSON members for a summary, so such a text is stored unchanged.
TEST_P(Summarizes, ATextThatIsJsonIsATextLikeOthers) {
  open(GetParam(), "Greeting script (renamed)");
  ASSERT_TRUE(writer->summarize(session, R"({"repo":"o/r"})"));
  const OpenCodeSession now(session->store(), session->place());
  EXPECT_EQ(now.text(now.index().leaf()), "{\"repo\":\"o/r\"}\n");
}

TEST_P(Summarizes, WhatIsNotUtf8IsRefused) {
  open(GetParam(), "Greeting script (renamed)");
  EXPECT_EQ(writer->summarize(session, "\xFF").error().code, Errc::not_utf8);
}

}  // namespace
}  // namespace arborfs
