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

TEST_F(ClaudeToClaude, TakesAlongWhatItsRowsName) {
  const std::string old = "projects/-work/11111111-1111-4111-8111-111111111111/";
  const auto put = [&](const std::string& path, const std::string& text) {
    const fs::path file = from_.root() + "/" + old + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  put("tool-results/mine.txt", "long");
  put("tool-results/inner.txt", "of the sub-agent");
  put("tool-results/other.txt", "of another branch");
  put("subagents/agent-aa11.jsonl",
      R"({"type":"user","uuid":"x","agentId":"aa11","more":"agent bb22, see tool-results/inner.txt"})"
      "\n");
  put("subagents/agent-aa11.meta.json", R"({"toolUseId":"t"})");
  put("subagents/agent-bb22.jsonl", "{}\n");
  put("subagents/agent-cc33.jsonl", "{}\n");
  put("subagents/agent-cc33.meta.json", R"({"toolUseId":"elsewhere"})");
  put("custom-title.json", R"({"customTitle":"Old"})");
  tests::Rows rows;
  rows.user("u", "", R"(,"cwd":"/work/on")");
  rows.block("c", "u", "m", R"({"type":"tool_use","id":"t","name":"Task","input":{"n":1}})");
  rows.result("d", "c");
  rows.user("e", "d", R"(,"seen":"/home/sam/.claude/)" + old + R"(tool-results/mine.txt")");
  const auto forked = fork(rows);
  ASSERT_TRUE(forked) << forked.error().message;
  const std::string id = forked->made.id;
  const std::string fresh = "projects/-work-on/" + id + "/";
  std::vector<std::string> copied;
  for (const auto& file : fs::recursive_directory_iterator(to_.root() + "/" + fresh)) {
    if (file.is_regular_file()) {
      copied.push_back(fs::relative(file.path(), to_.root() + "/" + fresh).string());
    }
  }
  EXPECT_THAT(copied, ::testing::UnorderedElementsAre("subagents/agent-aa11.jsonl", "subagents/agent-aa11.meta.json",
                                                      "subagents/agent-bb22.jsonl", "tool-results/inner.txt",
                                                      "tool-results/mine.txt"));
  EXPECT_THAT(bytes_of(*forked->made.session), HasSubstr("/home/sam/.claude/" + fresh + "tool-results/mine.txt"));
}

TEST_F(ClaudeToClaude, MakesNoFolderWhereItsRowsNameNothing) {
  tests::Rows rows;
  rows.user("u", "").block("a", "u", "m", R"({"type":"text","text":"Look"})");
  const auto forked = fork(rows);
  ASSERT_TRUE(forked) << forked.error().message;
  const auto place = forked->made.session->place();
  EXPECT_FALSE(fs::exists(to_.root() + "/projects/" + place.folder + "/" + std::string(place.stem())));
}

}  // namespace
}  // namespace arborfs
