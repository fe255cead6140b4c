// Sessions of every agent follow a project that was moved, and come back: in the samples that the agents wrote, and in
// generated stores (CONTRACT.md 4.12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/claude/format.h"
#include "core/formats/registry.h"
#include "core/os/temp_file.h"
#include "core/views/session_views.h"
#include "tests/support/generated_store.h"
#include "tests/support/killed_acts.h"
#include "tests/support/paths.h"
#include "tests/support/store_files.h"
#include "tests/support/temp_store.h"
#include "tests/support/undone.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using testing::Files;
using testing::files_in;
using ::testing::HasSubstr;
using testing::TempStore;

/// An agent's folder, as after a new start of arborfs.
struct Opened {
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<Writer> writer;

  Opened(const std::string& agent, const fs::path& dir, const std::string& state = "") {
    auto stores = open_stores({{agent, dir.string(), false}}, Access::write);
    EXPECT_TRUE(stores) << stores.error().message;
    catalog = std::make_unique<Catalog>(*std::move(stores), "/home/ann", state);
    catalog->rescan();
    writer = make_writer(*catalog, {});
  }
  /// Those that do not belong to the files of another one, by their ids.
  [[nodiscard]] std::map<std::string, SessionPtr> sessions() const {
    std::map<std::string, SessionPtr> found;
    const auto view = catalog->view();
    for (const auto& [id, session] : view->by_id) {
      if (session->format().is_writable()) {
        found[id] = session;
      }
    }
    return found;
  }
  [[nodiscard]] std::map<std::string, std::string> working_directories() const {
    std::map<std::string, std::string> found;
    for (const auto& [id, session] : sessions()) {
      found[id] = session->head().header.cwd;
    }
    return found;
  }
  [[nodiscard]] std::map<std::string, std::string> contexts() const {
    std::map<std::string, std::string> found;
    for (const auto& [id, session] : sessions()) {
      const Session::Use use(session);
      EXPECT_TRUE(session->refresh(Depth::details)) << id;
      const auto view = make_view(*session, *find_view("context.json"), 0, *catalog);
      const auto text = view ? view->content->read_all() : Result<std::string>(view.error());
      found[id] = text ? *text : text.error().message;
    }
    return found;
  }
  /// Relocates every session of the folder. A thread of Codex that is compressed, or in whose file another one begins,
  /// stays if it is of an old kind or not in Codex's database; it is one of `left`.
  std::vector<Relocation> relocate_all(const FolderMove& move, std::set<std::string>* left = nullptr) const {
    std::vector<Relocation> made;
    for (const auto& [id, session] : sessions()) {
      if (!move.now(session->head().header.cwd)) {
        continue;
      }
      const auto would = writer->check_relocation(session, move);
      auto done = writer->relocate(session, move);
      EXPECT_EQ(would.has_value(), done.has_value()) << id;
      if (done) {
        EXPECT_EQ(*would, *done) << id;
        auto read = read_relocation(relocation_text(*done));
        EXPECT_TRUE(read && relocation_text(*read) == relocation_text(*done)) << id;
        made.push_back(*std::move(read));
      } else {
        EXPECT_THAT(done.error().message, AnyOf(HasSubstr("not in"), HasSubstr("an old one that is compressed"))) << id;
        if (left != nullptr) {
          left->insert(id);
        }
      }
    }
    return made;
  }
};

/// Moves the project of all sessions of each working directory, and back.
void expect_there_and_back(const std::string& agent, const fs::path& dir) {
  const Files before = files_in(dir);
  std::set<std::string> folders;
  const auto contexts = Opened(agent, dir).contexts();
  for (const auto& [id, cwd] : Opened(agent, dir).working_directories()) {
    folders.insert(cwd);
  }
  folders.erase("");
  for (const std::string& folder : folders) {
    SCOPED_TRACE(agent + " " + folder);
    const FolderMove move(folder, "/moved/to a n\xC3\xA4w/place.d" + std::string(190, 'x'));
    const auto was = Opened(agent, dir).working_directories();
    const auto made = Opened(agent, dir).relocate_all(move);
    const Opened after(agent, dir);
    auto expected = was;
    for (const Relocation& one : made) {
      expected[one.id] = *move.now(was.at(one.id));
    }
    EXPECT_EQ(after.working_directories(), expected);
    EXPECT_EQ(after.contexts(), contexts);
    for (const auto& [id, session] : agent == "claude" ? after.sessions() : std::map<std::string, SessionPtr>()) {
      const std::string cwd = session->head().header.cwd;
      EXPECT_TRUE(!move.now(was.at(id)) || session->place().folder == claude::project_folder_of(cwd)) << cwd;
    }
    const auto back = after.writer->put_back(made);
    EXPECT_TRUE(back) << back.error().message;
    EXPECT_EQ(files_in(dir), before);
  }
}

struct Sample {
  const char* agent;
  const char* folder;  // below tests/
};

class Samples : public ::testing::TestWithParam<Sample> {};

TEST(Relocation, TextThatIsNoneIsRefused) {
  EXPECT_FALSE(read_relocation("{}"));
  EXPECT_FALSE(read_relocation(R"({"session":["a","b","c"],"places":["d","e"],"cwd":["f","g"]})"));
}

TEST_P(Samples, FollowTheirProjectsAndComeBackByteForByte) {
  const TempStore temp(testing::memory_folder());
  const fs::path dir = fs::path(temp.root()) / "store";
  fs::copy(fs::path(tests::kTestData) / GetParam().folder, dir, fs::copy_options::recursive);
  expect_there_and_back(GetParam().agent, dir);
}

INSTANTIATE_TEST_SUITE_P(
    OfAgents, Samples,
    ::testing::Values(Sample{"claude", "claude"}, Sample{"codex", "codex/legacy"}, Sample{"codex", "codex/paginated"},
                      Sample{"goat", "goat/nested"}, Sample{"goat", "goat/flat"}, Sample{"pi", "pi"},
                      Sample{"opencode", "opencode/files"}, Sample{"opencode", "opencode/first-sqlite-1.2.1"},
                      Sample{"opencode", "opencode/fresh-1.18.33"}, Sample{"opencode", "opencode/migrated-1.18.33"}));

// All that belongs to a session of Claude Code, and the notes about the project, are in the folder in which the program
// looks, which has a hash in its name if the path is long.
TEST(Relocation, SubAgentsOutputsAndNotesOfClaudeCodeGoAlong) {
  const TempStore temp;
  const fs::path projects = fs::path(temp.root()) / "projects";
  const std::string id = "11111111-1111-4111-8111-111111111111";
  const auto put = [&](const std::string& name, const std::string& text) {
    fs::create_directories((projects / "-work" / name).parent_path());
    std::ofstream(projects / "-work" / name) << text;
  };
  const std::string row = R"({"type":"user","uuid":"a","parentUuid":null,"cwd":"/work","message":{"role":"user",)"
                          R"("content":"kite"},"sessionId":")" +
                          id + R"("})";
  put(id + ".jsonl", row);  // without a line feed
  put(id + "/subagents/agent-77.jsonl", row);
  put(id + "/tool-results/t.txt", "long");
  put("memory/notes.md", "notes");
  put("22222222-2222-4222-8222-222222222222.jsonl", R"({"type":"user","uuid":"b","cwd":"/wo-rk"})");
  const Files before = files_in(projects);
  const std::string cwd = "/home/ann/" + std::string(220, 'x') + "/n\xC3\xA4w app";
  const auto made = Opened("claude", temp.root()).relocate_all({"/work", cwd});
  ASSERT_EQ(made.size(), 1U);
  const fs::path moved = projects / claude::project_folder_of(cwd);
  EXPECT_GT(moved.filename().string().size(), 200U);
  for (const std::string& name :
       {id + "/subagents/agent-77.jsonl", id + "/tool-results/t.txt", std::string("memory/notes.md")}) {
    EXPECT_EQ(files_in(projects).at((moved / name).string()), before.at((projects / "-work" / name).string())) << name;
  }
  const Opened after("claude", temp.root());
  EXPECT_EQ(after.working_directories().at(id), cwd);
  const auto back = after.writer->put_back(made);
  EXPECT_TRUE(back) << back.error().message;
  EXPECT_EQ(files_in(projects), before);
}

// What was written since stays, and so does the session then.
TEST(Relocation, ASessionThatWasContinuedDoesNotGoBack) {
  const TempStore temp;
  const fs::path log = fs::path(temp.root()) / "projects/-work/11111111-1111-4111-8111-111111111111.jsonl";
  fs::create_directories(log.parent_path());
  std::ofstream(log) << R"({"type":"user","uuid":"a","parentUuid":null,"cwd":"/work","sessionId":"s"})"
                        "\n";
  const auto made = Opened("claude", temp.root()).relocate_all({"/work", "/moved"});
  const fs::path moved = fs::path(temp.root()) / "projects/-moved" / log.filename();
  std::ofstream(moved, std::ios::app) << R"({"type":"user","uuid":"b","parentUuid":"a","cwd":"/moved"})"
                                         "\n";
  const Files continued = files_in(temp.root());
  const auto back = Opened("claude", temp.root()).writer->put_back(made);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Errc::stale);
  EXPECT_EQ(files_in(temp.root()), continued);
}

// A transcript that its user has moved by hand is in the project of its folder once the program has run there.
TEST(Relocation, ATranscriptThatWasMovedByHandIsWhereItsProgramContinuedIt) {
  const TempStore temp;
  const fs::path log = fs::path(temp.root()) / "projects/-moved/11111111-1111-4111-8111-111111111111.jsonl";
  fs::create_directories(log.parent_path());
  std::ofstream(log) << R"({"type":"user","uuid":"a","parentUuid":null,"cwd":"/work"})"
                        "\n";
  EXPECT_EQ(Opened("claude", temp.root()).working_directories().begin()->second, "/work");
  std::ofstream(log, std::ios::app) << R"({"type":"user","uuid":"b","parentUuid":"a","cwd":"/moved"})"
                                       "\n"
                                       R"({"type":"user","uuid":"c","parentUuid":"b","cwd":"/moved/sub"})"
                                       "\n";
  EXPECT_EQ(Opened("claude", temp.root()).working_directories().begin()->second, "/moved");
}

class Generated : public ::testing::TestWithParam<testing::AgentShapes> {};

TEST_P(Generated, FollowTheirProjectsAndComeBackByteForByte) {
  constexpr unsigned kStores = 20;
  const TempStore temp(testing::memory_folder());
  for (unsigned number = 0; number < kStores && !HasFailure(); ++number) {
    SCOPED_TRACE(number);
    const testing::GeneratedStore store(GetParam(), number, temp.root() + "/stores", {.names = true});
    expect_there_and_back(GetParam().agent, temp.root() + "/stores/" + GetParam().agent);
  }
}

// Whatever the process had done when it was killed, the same command completes it, and undo takes all of it back.
TEST_P(Generated, FollowTheirProjectsAfterKills) {
  const TempStore temp(testing::memory_folder());
  testing::KillMoments moments;
  const FolderMove move("/w", "/moved");
  for (int round = 0; round < testing::kill_rounds() / 4 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const testing::GeneratedStore store(GetParam(), static_cast<unsigned>(round), temp.root() + "/stores", {});
    const fs::path dir = temp.root() + "/stores/" + GetParam().agent;
    const std::string state = temp.root() + "/state" + std::to_string(round);
    const Files before = files_in(dir);
    const auto contexts = Opened(GetParam().agent, dir).contexts();
    const auto was = Opened(GetParam().agent, dir).working_directories();
    static_cast<void>(testing::is_acknowledged_before_kill(moments, [&]() -> Result<void> {
      Opened(GetParam().agent, dir, state).relocate_all(move);
      return {};
    }));
    std::set<std::string> left;
    Opened(GetParam().agent, dir, state).relocate_all(move, &left);
    const Opened after(GetParam().agent, dir, state);
    EXPECT_EQ(after.contexts(), contexts);
    for (const auto& [id, cwd] : after.working_directories()) {
      EXPECT_EQ(cwd, was.at(id).empty() || left.contains(id) ? was.at(id) : "/moved/p") << id;
    }
    while (testing::has_operation(*after.writer) && !HasFailure()) {
      const auto undone = testing::undo_last(*after.writer);
      EXPECT_TRUE(undone) << undone.error().message;
    }
    Files now = files_in(dir);
    std::erase_if(now, [](const auto& file) { return is_temporary_name(fs::path(file.first).filename().string()); });
    EXPECT_EQ(now, before) << "without what the killed one had begun";
  }
}

INSTANTIATE_TEST_SUITE_P(OfAgents, Generated, ::testing::ValuesIn(testing::agent_shapes()),
                         [](const auto& agent) { return agent.param.agent; });

}  // namespace
}  // namespace arborfs
