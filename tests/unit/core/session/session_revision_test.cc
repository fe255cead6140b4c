// Entries that an agent changes in place: those before them keep their generation.
#include "fs/nodes/node_numbers.h"
#include "tests/support/opencode_database.h"

namespace arborfs {
namespace {

class SessionRevision : public conformance::WritesToOpenCode {
 protected:
  void SetUp() override {
    open("fresh-1.18.33", "Greeting script (renamed)");
    ASSERT_TRUE(session);
    for (int turn = 0; turn < 3; ++turn) {
      add(2 * turn, "user");
      add(2 * turn + 1, "assistant");
    }
    last = refreshed()->index().size();
  }

  [[nodiscard]] static std::string message(int number) { return "msg_new" + std::to_string(100 + number); }
  void add(int number, const std::string& role) {
    const std::string at = std::to_string(1'900'000'000'000 + number);
    Program(database).run("INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES ('" +
                          message(number) + "', '" + session->stem() + "', " + at + ", " + at + R"(, '{"role":")" +
                          role + R"(","time":{"created":)" + at + "}}')");
    change(number, "said");
  }
  void change(int number, const std::string& text) {
    const std::string part = "prt" + message(number);
    const std::string data = R"({"type":"text","text":")" + text + R"("})";
    Program(database).run("INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES ('" +
                          part + "', '" + message(number) + "', '" + session->stem() +
                          "', 1900000000000, 1900000000000, '" + data +
                          "') ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = time_updated + 1");
  }
  void remove(int number) {
    Program(database).run("DELETE FROM part WHERE message_id = '" + message(number) + "'");
    Program(database).run("DELETE FROM message WHERE id = '" + message(number) + "'");
  }
  std::optional<Session::Guard> refreshed() {
    EXPECT_TRUE(session->refresh(Depth::details));
    auto guard = session->read();
    EXPECT_TRUE(guard.has_value());
    return guard;
  }
  /// The generation of each entry, after that of the session.
  std::vector<std::uint32_t> generations() {
    const auto guard = refreshed();
    std::vector<std::uint32_t> all = {guard->generation()};
    for (Ordinal ordinal = 1; ordinal <= guard->index().size(); ++ordinal) {
      all.push_back(guard->generation_of(ordinal));
    }
    return all;
  }
  using Program = conformance::Program;
  Ordinal last = kNoEntry;
};

TEST_F(SessionRevision, EntriesBeforeAChangedLastOneKeepTheirGeneration) {
  const auto before = generations();
  EXPECT_EQ(refreshed()->index().settled(), last - 2);
  for (const char* const words : {"and", "and so"}) {
    const auto then = generations();
    change(5, words);
    const auto now = generations();
    ASSERT_EQ(now.size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end() - 1, now.begin()));
    EXPECT_NE(now.back(), then.back());
  }
  EXPECT_NE(refreshed()->generation_of(Session::Guard::kLastEntry), before.back());
}

TEST_F(SessionRevision, AnEntryKeepsItsGenerationWhenTheNextOneChanges) {
  change(5, "done");
  const auto done = generations();
  add(6, "assistant");
  EXPECT_EQ(generations().back(), done.back()) << "only added";
  change(6, "and");
  const auto now = generations();
  EXPECT_TRUE(std::equal(done.begin(), done.end(), now.begin()));
  EXPECT_NE(now.back(), done.back());
}

TEST_F(SessionRevision, AChangeOfASettledEntryStartsANewGeneration) {
  const auto before = generations();
  change(1, "not what it was");
  const auto now = generations();
  ASSERT_EQ(now.size(), before.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    EXPECT_NE(now[i], before[i]);
  }
}

TEST_F(SessionRevision, WhatWasOnceSettledStaysSettled) {
  remove(5);
  remove(4);
  static_cast<void>(generations());
  const auto before = generations();
  EXPECT_LT(refreshed()->index().settled(), last - 3);
  change(3, "settled while there was a later turn");
  EXPECT_NE(generations().front(), before.front());
}

TEST_F(SessionRevision, RemovedEntriesTakeTheirGenerationAlong) {
  const auto before = generations();
  remove(5);
  const auto without = generations();
  EXPECT_TRUE(std::equal(without.begin(), without.end(), before.begin()));
  add(5, "assistant");
  EXPECT_NE(generations().back(), before.back());
}

TEST_F(SessionRevision, ATranscriptWhoseLastMessageChangedIsAnotherFile) {
  TranscriptVersions versions;
  static_cast<void>(generations());
  const auto first = versions.version_of(*session);
  add(6, "assistant");
  static_cast<void>(generations());
  EXPECT_EQ(*versions.version_of(*session), *first) << "only longer";
  change(6, "and so it goes");
  static_cast<void>(generations());
  EXPECT_NE(*versions.version_of(*session), *first);
}

}  // namespace
}  // namespace arborfs
