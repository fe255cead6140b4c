// pi's session dirs, in which logs lie directly: how they are found, listed, trashed and held (pi/FORMAT.md A2).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/formats/omp/edit/orphan_files.h"
#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/log_files.h"
#include "core/formats/omp/store/store.h"
#include "core/formats/registry.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs::omp {
namespace {

using testing::TempStore;
namespace fs = std::filesystem;

constexpr char kName[] = "2026-02-16T10-20-30-000Z_01a1ffda-7d0b-760a-931f-684c28434ceb";
const std::string kFile = std::string(kName) + ".jsonl";

/// A home folder of its own, without the agents' variables.
class PiSessionDirTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& path) const {
    return fs::canonical(home.root()).string() + "/" + path;
  }
  void make(const std::string& folder) const { fs::create_directories(at(folder)); }
  void write(const std::string& path, std::string_view text) const {
    fs::create_directories(fs::path(at(path)).parent_path());
    std::ofstream(at(path)) << text;
  }
  void write_log(const std::string& path) const { write(path, TempStore::two_entries()); }
  static std::vector<FoundStore> rows_of_pi() {
    auto found = find_stores({}, Access::look);
    EXPECT_TRUE(found);
    std::erase_if(*found, [](const FoundStore& row) { return row.agent != "pi"; });
    return std::move(found).value();
  }
  [[nodiscard]] std::shared_ptr<Store> named(const std::string& dir) const {
    const auto found = find_stores({{"pi", at(dir)}}, Access::look);
    EXPECT_TRUE(found);
    return found->front().store;
  }

  TempStore home;
  testing::Variable home_{"HOME", home.root()};
  testing::Variable agent_dir_{"PI_CODING_AGENT_DIR", ""};
  testing::Variable session_dir_{"PI_CODING_AGENT_SESSION_DIR", ""};
};

std::vector<std::string> places_of(const Store& store) {
  std::vector<std::string> places;
  const auto folders = store.folders();
  EXPECT_TRUE(folders);
  for (const std::string& folder : *folders) {
    const auto logs = store.logs(folder, {});
    EXPECT_TRUE(logs) << folder;
    for (const FoundLog& log : *logs) {
      places.push_back(log.place.folder + "/" + log.place.file);
    }
  }
  return places;
}

TEST_F(PiSessionDirTest, OfTheEnvironmentIsAStoreBesideTheAgentDir) {
  make(".pi/agent/sessions");
  write_log("logs/" + kFile);
  const testing::Variable chosen("PI_CODING_AGENT_SESSION_DIR", "~/logs");
  const auto rows = rows_of_pi();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].place, at(".pi/agent"));
  EXPECT_EQ(rows[1].place, at("logs"));
  ASSERT_TRUE(rows[0].store && rows[1].store);
  EXPECT_EQ(places_of(*rows[1].store), std::vector<std::string>{"./" + kFile});
}

TEST_F(PiSessionDirTest, OfTheSettingsIsUsedWithoutTheVariable) {
  write(".pi/agent/settings.json", R"({"theme":"dark","sessionDir":")" + at("kept") + "\"}");
  make("kept");
  auto rows = rows_of_pi();
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_TRUE(rows[1].store);
  EXPECT_EQ(rows[1].place, at("kept"));
  EXPECT_TRUE(rows[1].store->present()) << "also before pi has a session";
  make("other");
  const testing::Variable chosen("PI_CODING_AGENT_SESSION_DIR", at("other"));
  rows = rows_of_pi();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].place, at("other")) << "the variable comes first";
}

TEST_F(PiSessionDirTest, OfAnAgentDirInTheEnvironmentIsFound) {
  write("both/settings.json", R"({"sessionDir":")" + at("kept") + "\"}");
  make("kept");
  const testing::Variable chosen("PI_CODING_AGENT_DIR", at("both"));
  const auto rows = rows_of_pi();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[0].store);
  EXPECT_TRUE(rows[1].store);
}

TEST_F(PiSessionDirTest, ThatDependsOnTheProjectIsReported) {
  write(".pi/agent/settings.json", R"({"sessionDir":".sessions"})");
  const auto rows = rows_of_pi();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[1].store);
  EXPECT_NE(rows[1].why_not.find("--store pi=DIR"), std::string::npos) << rows[1].why_not;
}

TEST_F(PiSessionDirTest, OddSettingsNameNone) {
  for (const char* text : {"", "{", "[]", R"({"sessionDir":null})", R"({"sessionDir":""})", R"({"sessionDir":7})"}) {
    write(".pi/agent/settings.json", text);
    EXPECT_EQ(rows_of_pi().size(), 1U) << text;
  }
}

TEST_F(PiSessionDirTest, ThatTheAgentDirHasAlreadyIsNoSecondStore) {
  write_log(".pi/agent/sessions/--x--/" + kFile);
  for (const char* dir : {".pi/agent/sessions", ".pi/agent/sessions/--x--"}) {
    const testing::Variable chosen("PI_CODING_AGENT_SESSION_DIR", at(dir));
    const auto rows = rows_of_pi();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_TRUE(rows[0].store);
    EXPECT_FALSE(rows[1].store) << dir;
  }
}

TEST_F(PiSessionDirTest, EqualToTheAgentDirIsAStoreOfItsOwn) {
  write_log(".pi/agent/sessions/--x--/" + kFile);
  write_log(".pi/agent/" + kFile);
  const testing::Variable chosen("PI_CODING_AGENT_SESSION_DIR", at(".pi/agent"));
  const auto rows = rows_of_pi();
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_TRUE(rows[0].store && rows[1].store);
  EXPECT_EQ(places_of(*rows[0].store), std::vector<std::string>{"--x--/" + kFile});
  EXPECT_EQ(places_of(*rows[1].store), std::vector<std::string>{"./" + kFile});
}

TEST_F(PiSessionDirTest, IsRecognisedByItsLogsWhenNamed) {
  write_log("flat/" + kFile);
  write_log("flat/deeper/" + kFile);
  write("flat/notes.txt", "no log");
  EXPECT_EQ(places_of(*named("flat")), std::vector<std::string>{"./" + kFile}) << "no folder of it is the agent's";
  EXPECT_EQ(named("flat")->path_of({".", kFile}), at("flat/" + kFile));
  EXPECT_FALSE(named("flat")->folder({"deeper", kFile}));
  make("empty");
  EXPECT_FALSE(named("empty")->present()) << "an agent dir without sessions";
  const testing::Variable chosen("PI_CODING_AGENT_SESSION_DIR", at("empty"));
  EXPECT_TRUE(named("empty")->present());
}

TEST_F(PiSessionDirTest, TwoOfOneParentAreTwoStores) {
  write_log("a/" + kFile);
  write_log("b/" + kFile);
  EXPECT_TRUE(find_stores({{"pi", at("a")}, {"pi", at("b")}}, Access::look));
  EXPECT_FALSE(find_stores({{"pi", at("a")}, {"pi", at("a/")}}, Access::look));
  write_log("agent/sessions/--x--/" + kFile);
  EXPECT_FALSE(find_stores({{"pi", at("agent/sessions/--x--")}, {"pi", at("agent")}}, Access::look));
}

TEST_F(PiSessionDirTest, AnAgentDirShowsLogsInItsSessionsFolderToo) {
  write_log("agent/sessions/--x--/" + kFile);
  write_log("agent/sessions/" + kFile);
  const auto store = named("agent");
  EXPECT_EQ(places_of(*store), (std::vector<std::string>{"--x--/" + kFile, "./" + kFile}));
  EXPECT_FALSE(store->may_have_logs(kFile)) << "the events of the folder itself suffice";
  EXPECT_TRUE(store->may_have_logs("--y--"));
  EXPECT_TRUE(store->open({".", kFile}));
  const auto omps = open_store(at("agent"));
  EXPECT_EQ(places_of(*omps), std::vector<std::string>{"--x--/" + kFile}) << "omp never writes there";
  EXPECT_FALSE(omps->folder({".", kFile}));
}

TEST_F(PiSessionDirTest, LogsAreTrashedAndRestored) {
  write_log("flat/" + kFile);
  const auto store = named("flat");
  Transfer trash(at("trash"), store->disk());
  const auto taken = trash.take(*store, {".", kFile}, "", belongings_of(*store, {".", kFile}));
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->path, at("flat/" + kFile));
  EXPECT_FALSE(fs::exists(at("flat/" + kFile)));
  const auto listed = trash.trash().list();
  ASSERT_EQ(listed.size(), 1U);
  const auto restored = trash.restore(listed.front(), *belongings_of(*store, listed.front().place));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_TRUE(fs::exists(at("flat/" + kFile)));
}

TEST_F(PiSessionDirTest, TakesNoFoldersForProjects) {
  write_log("flat/" + kFile);
  const auto draft = log_files(*named("flat")).draft({"--x--", kFile}, kAnyPermissions);
  ASSERT_FALSE(draft);
  EXPECT_EQ(draft.error().code, Errc::unsupported);
  EXPECT_FALSE(fs::exists(at("flat/--x--")));
}

TEST_F(PiSessionDirTest, LeftoversAreFound) {
  write_log("flat/" + kFile);
  write("flat/." + kFile + ".lock", "");
  fs::last_write_time(at("flat/." + kFile + ".lock"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto store = named("flat");
  const auto found = find_leftovers(*store);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(leftover_path(found.front(), store->paths()), at("flat/." + kFile + ".lock"));
}

}  // namespace
}  // namespace arborfs::omp
