// The documents of the first Codex as threads of a store (codex/FORMAT.md A2, B6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/session/session_name.h"
#include "core/store/format.h"
#include "core/views/session_views.h"
#include "tests/support/store_totals.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::HasSubstr;
using testing::StoreOfLines;

constexpr const char* kId = "0b1c2d3e4f5061728394a5b6c7d8e9f0";

std::string path_of_day(const std::string& day, const std::string& id = kId) {
  return "sessions/rollout-" + day + "-" + id + ".json";
}

/// Indented, as the program wrote it.
StoreOfLines::Lines document(const std::vector<std::string>& prompts) {
  StoreOfLines::Lines lines = {"{",
                               R"(  "session": {)",
                               R"(    "timestamp": "2025-04-20T10:00:00.000Z",)",
                               R"(    "id": ")" + std::string(kId) + "\",",
                               R"(    "instructions": "")",
                               "  },",
                               R"(  "items": [)"};
  for (const std::string& prompt : prompts) {
    lines.push_back("    {");
    lines.push_back(R"(      "type": "message", "role": "user",)");
    lines.push_back(R"(      "content": [ { "type": "input_text", "text": ")" + prompt + R"(" } ])");
    lines.push_back(&prompt == &prompts.back() ? "    }" : "    },");
  }
  lines.insert(lines.end(), {"  ]", "}"});
  return lines;
}

class CodexDocuments : public ::testing::Test {
 protected:
  static std::string transcript(const Session& session, const Catalog& catalog) {
    const auto view = make_view(session, *find_view("transcript.md"), 0, catalog);
    EXPECT_TRUE(view);
    return view ? *view->content->read_all() : "";
  }
  const testing::TempStore scratch_;
  StoreOfLines store_{"codex", scratch_.root() + "/codex"};
};

TEST_F(CodexDocuments, AreThreadsThatAreNamedAndRead) {
  store_.files[path_of_day("2025-04-20")] = document({"rename it", "and the tests"});
  store_.write();
  const auto catalog = store_.open();
  ASSERT_EQ(catalog->view()->by_id.size(), 1U);
  const auto& [id, session] = catalog->view()->by_id.front();
  EXPECT_EQ(id, kId);
  EXPECT_EQ(session_name(*session, 80), "rename it");
  ASSERT_TRUE(session->refresh(Depth::details));
  EXPECT_EQ(session->read()->index().size(), 2U);
  EXPECT_THAT(transcript(*session, *catalog), HasSubstr("and the tests\n"));
  EXPECT_TRUE(catalog->left_out().empty());
  EXPECT_TRUE(examine_session(*session, *catalog).empty());
}

TEST_F(CodexDocuments, OfSeveralDaysTheLastCounts) {
  store_.files[path_of_day("2025-04-20")] = document({"rename it"});
  store_.files[path_of_day("2025-04-21")] = document({"rename it", "and the tests"});
  store_.write();
  const auto catalog = store_.open();
  ASSERT_EQ(catalog->view()->by_id.size(), 1U);
  const SessionPtr session = catalog->view()->by_id.front().second;
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->read()->index().size(), 2U);
  ASSERT_EQ(catalog->left_out().size(), 1U);
  EXPECT_EQ(catalog->left_out().front().reason, "another file of the same thread is shown");
}

TEST_F(CodexDocuments, AreResumedByNoProgram) {
  store_.files[path_of_day("2025-04-20")] = document({"rename it"});
  store_.write();
  const auto catalog = store_.open();
  const SessionPtr session = catalog->view()->by_id.front().second;
  const LogPlace place = session->place();
  const auto command = resume_command(session->store(), session->format(), {place, kId});
  ASSERT_FALSE(command);
  EXPECT_THAT(command.error().message, HasSubstr("codex-json"));
}

// The program wrote the whole document anew after each answer.
TEST_F(CodexDocuments, AreReadAnewWhenTheyAreRewritten) {
  store_.files[path_of_day("2025-04-20")] = document({"rename it"});
  store_.write();
  const auto catalog = store_.open();
  const SessionPtr session = catalog->view()->by_id.front().second;
  ASSERT_TRUE(session->refresh(Depth::index));
  std::ofstream rewritten(scratch_.root() + "/codex/" + path_of_day("2025-04-20"));
  for (const std::string& line : document({"rename it", "and the tests"})) {
    rewritten << line << "\n";
  }
  rewritten.close();
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->read()->index().size(), 2U);
}

}  // namespace
}  // namespace arborfs
