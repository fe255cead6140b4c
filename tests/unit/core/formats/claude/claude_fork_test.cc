// Forks to Claude Code: the folder of a project (claude/FORMAT.md A1), and rows of another transcript (G4).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "core/formats/claude/writer.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/write/writer.h"
#include "tests/support/claude_log.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ClaudeProjectFolder, ReplacesWhatIsNoLetterOrDigit) {
  EXPECT_EQ(claude::project_folder_of("/home/sam/a.b_c"), "-home-sam-a-b-c");
  EXPECT_EQ(claude::project_folder_of("/\xC3\xA4/\xF0\x9F\x98\x80"), "-----") << "two UTF-16 units";
}

TEST(ClaudeProjectFolder, OfALongPathEndsInItsHash) {
  const std::string fits = "/" + std::string(199, 'a');
  EXPECT_EQ(claude::project_folder_of(fits), "-" + std::string(199, 'a'));
  // h = int32 of 31*h + unit over the path's UTF-16 units; |h| in base 36.
  EXPECT_EQ(claude::project_folder_of(fits + "b"), "-" + std::string(199, 'a') + "-b6ymvk");
  EXPECT_EQ(claude::project_folder_of(fits + "\xF0\x9F\x98\x80"), "-" + std::string(199, 'a') + "-86sic5");
}

/// A transcript and an empty store of Claude Code, which is the first.
class ClaudeToClaude : public ::testing::Test {
 protected:
  Result<AdoptResult> fork(const tests::Rows& rows) {
    const fs::path project = fs::path(from_.root()) / "projects" / "-work";
    fs::create_directories(project);
    std::ofstream(project / "11111111-1111-4111-8111-111111111111.jsonl") << rows.bytes();
    const auto stores = open_stores({{"claude", to_.root(), false}, {"claude", from_.root(), false}}, Access::write);
    EXPECT_TRUE(stores);
    catalog_ = std::make_unique<Catalog>(*stores, "/home/sam", "");
    catalog_->rescan();
    const auto session = catalog_->find("11111111-1111-4111-8111-111111111111");
    EXPECT_TRUE(session);
    return make_writer(*catalog_, {})->fork_to(*session, {"claude", "", "", ""});
  }
  static std::string bytes_of(const Session& session) {
    std::ifstream in(session.store().path_of(session.place()), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  testing::TempStore from_;
  testing::TempStore to_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(ClaudeToClaude, KeepsRowsWithTheirSignatures) {
  tests::Rows rows;
  rows.user("u", "", R"(,"cwd":"/work","gitBranch":"main","more":1.50)");
  rows.block("a", "u", "m", R"({"type":"thinking","thinking":"Hm","signature":"c2ln"})");
  rows.block("b", "a", "m", R"({"type":"redacted_thinking","data":"eA=="})");
  rows.block("c", "b", "m", R"({"type":"tool_use","id":"t","name":"Read","input":{"n":1}})");
  rows.result("d", "c");
  const auto forked = fork(rows);
  ASSERT_TRUE(forked) << forked.error().message;
  const std::string bytes = bytes_of(*forked->made.session);
  for (const char* kept :
       {R"("gitBranch":"main","more":1.50)", R"({"type":"thinking","thinking":"Hm","signature":"c2ln"})",
        R"({"type":"redacted_thinking","data":"eA=="})", R"("uuid":"c")", R"("parentUuid":"b")"}) {
    EXPECT_THAT(bytes, HasSubstr(kept));
  }
  EXPECT_THAT(bytes, Not(HasSubstr(R"("sessionId":"s")"))) << "which is that of the source";
  EXPECT_EQ(forked->as_text.reasoning, 0U);
}

TEST_F(ClaudeToClaude, WritesCallsWithoutAResultAsText) {
  tests::Rows rows;
  rows.user("u", "").block("a", "u", "m", R"({"type":"text","text":"Look"})");
  rows.block("b", "a", "m", R"({"type":"tool_use","id":"open","name":"Read","input":{"n":1}})");
  rows.result("d", "b");
  const auto forked = fork(rows);
  ASSERT_TRUE(forked) << forked.error().message;
  const std::string bytes = bytes_of(*forked->made.session);
  EXPECT_THAT(bytes, Not(HasSubstr("tool_use")));
  EXPECT_THAT(bytes, Not(HasSubstr("tool_result")));
  EXPECT_THAT(bytes, HasSubstr(R"([call of the tool Read without a result: {\"n\":1}])"));
  EXPECT_THAT(bytes, HasSubstr(R"([result of a tool]\nof d)"));
  EXPECT_EQ(forked->as_text.calls + forked->as_text.results, 2U);
}

}  // namespace
}  // namespace arborfs
