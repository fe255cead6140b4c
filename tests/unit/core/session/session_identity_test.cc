// The id of a session is what its agent's own resume command looks up (claude/FORMAT.md A6, codex/FORMAT.md A7): single
// cases of the property K2 in generated_stores_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/store_totals.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using testing::StoreOfLines;

void add_claude(StoreOfLines& store, const std::string& name, const std::string& inside) {
  store.files["projects/-w-p/" + name + ".jsonl"] = {
      R"({"type":"user","uuid":"u1","parentUuid":null,"isSidechain":false,"sessionId":")" + inside +
      R"(","cwd":"/w/p","timestamp":"2026-05-01T10:00:00.000Z","message":{"role":"user","content":"x"}})"};
}

void add_omp(StoreOfLines& store, const std::string& name, const std::string& inside) {
  store.files["sessions/-w-p/2026-05-01T10-00-00-000Z_" + name + ".jsonl"] = {
      testing::TempStore::header(inside, "/w/p"), testing::TempStore::user("e1", "", "x")};
}

// A transcript whose first rows are copies of another session's is a session of its own.
TEST(SessionIdentityOfClaude, ContinuedTranscriptIsItsOwnSession) {
  const testing::TempStore scratch;
  StoreOfLines store("claude", scratch.root() + "/claude");
  const std::string one = "00000041-0000-4000-8000-000000000000";
  const std::string two = "00000042-0000-4000-8000-000000000000";
  add_claude(store, one, one);
  add_claude(store, two, one);
  store.write();
  const auto catalog = store.open();
  ASSERT_EQ(catalog->view()->by_id.size(), 2U);
  EXPECT_EQ(catalog->view()->by_id[0].first, one);
  EXPECT_EQ(catalog->view()->by_id[1].first, two);
}

// The same where its title stands in another log.
TEST(SessionIdentityOfClaude, TranscriptWithItsTitleElsewhereIsItsOwnSession) {
  const testing::TempStore scratch;
  StoreOfLines store("claude", scratch.root() + "/claude");
  const std::string one = "00000041-0000-4000-8000-000000000000";
  const std::string two = "00000042-0000-4000-8000-000000000000";
  add_claude(store, two, one);
  store.files["projects/-w-p/00000043-0000-4000-8000-000000000000.jsonl"] = {
      R"({"type":"summary","summary":"Parser repair","leafUuid":"u1"})"};
  store.write();
  const auto catalog = store.open();
  ASSERT_EQ(catalog->view()->by_id.size(), 2U);
  EXPECT_EQ(catalog->view()->by_id[0].first, two);
  const SessionPtr session = catalog->view()->by_id[0].second;
  EXPECT_EQ(session->title(), "Parser repair");
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->read()->index().header().id, two);
}

TEST(SessionIdentityOfClaude, SubAgentBelongsToTheSessionOfItsFolder) {
  const testing::TempStore scratch;
  StoreOfLines store("claude", scratch.root() + "/claude");
  const std::string one = "00000041-0000-4000-8000-000000000000";
  add_claude(store, one, "of-another");
  add_claude(store, one + "/subagents/agent-abc", "of-another");
  add_claude(store, "agent-def", one);  // as older versions kept them
  store.write();
  const auto catalog = store.open();
  const auto view = catalog->view();
  ASSERT_EQ(view->by_id.size(), 3U);
  EXPECT_EQ(view->by_id[0].first, one);
  EXPECT_EQ(view->by_id[1].first, "agent-abc");
  EXPECT_EQ(view->by_id[1].second->head().header.started_by, one);
  EXPECT_EQ(view->by_id[2].first, "agent-def");
  EXPECT_EQ(view->by_id[2].second->head().header.started_by, one);
  EXPECT_EQ(view->projects.size(), 1U);
  EXPECT_EQ(view->projects[0]->sessions.size(), 1U);
}

// Codex tells of a sub-agent in its first line; the database may be gone.
TEST(SessionIdentityOfCodex, SubAgentIsAChildAndItsFirstMessageIsItsOwn) {
  const testing::TempStore scratch;
  StoreOfLines store("codex", scratch.root() + "/codex");
  const std::string one = "11111111-1111-7111-8111-111111111111";
  const std::string two = "33333333-3333-7333-8333-333333333333";
  const auto said = [](const std::string& time, const std::string& text) {
    return R"({"timestamp":"2026-05-01T)" + time +
           R"(.000Z","type":"response_item","payload":{"type":"message","role":"user","content":)"
           R"([{"type":"input_text","text":")" +
           text + R"("}]}})";
  };
  const std::string meta = R"({"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":")";
  const std::string of_one = meta + one + R"(","cwd":"/w/p"}})";
  const std::string folder = "sessions/2026/05/01/rollout-2026-05-01T10-00-00-";
  store.files[folder + one + ".jsonl"] = {of_one, said("10:00:01", "count the files")};
  store.files[folder + two + ".jsonl"] = {
      meta + two + R"(","cwd":"/w/p","source":{"subagent":{"thread_spawn":{"parent_thread_id":")" + one + R"("}}}}})",
      of_one, said("10:05:00", "count the files"), said("10:06:00", "look for links")};
  store.write();
  const auto catalog = store.open();
  const SessionPtr child = catalog->view()->by_id.back().second;
  EXPECT_TRUE(catalog->view()->is_child(child->number()));
  ASSERT_TRUE(child->refresh(Depth::index));
  const auto guard = child->read();
  std::vector<std::string> names;
  for (Ordinal ordinal = 1; ordinal <= guard->index().size(); ++ordinal) {
    names.emplace_back(guard->index().name(ordinal));
  }
  EXPECT_THAT(names, ElementsAre("inherited", "user"));
}

// A store that the user names as an agent's is that agent's, whatever its logs say.
TEST(SessionIdentityOfNamedStores, NameDecides) {
  const testing::TempStore scratch;
  for (const char* agent : {"omp", "pi"}) {
    for (const char* id : {"0196a000-0000-7000-8000-000000000003", "aaaa000011112222"}) {
      StoreOfLines store(agent, scratch.root() + "/" + agent);
      add_omp(store, id, id);
      store.write();
      const auto catalog = store.open();
      const SessionPtr session = catalog->view()->by_id.front().second;
      EXPECT_EQ(session->agent(), agent) << id;
      ASSERT_TRUE(session->refresh(Depth::index));
      EXPECT_EQ(session->agent(), agent) << id;
    }
  }
}

}  // namespace
}  // namespace arborfs
