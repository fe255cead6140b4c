// Sessions that others started: where the catalog and the mount show them, and who is notified when that changes
// (CONTRACT.md 2.11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/formats/claude/format.h"
#include "core/session/catalog.h"
#include "fs/nodes/invalidation.h"
#include "fs/nodes/vfs.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using testing::TempStore;

constexpr char kStarter[] = "11111111-2222-4333-8444-555555555555";
constexpr char kShownStarter[] = "projects/work/claude-11111111-2222-4333-8444-555555555555";

class SessionChildren : public ::testing::Test {
 protected:
  SessionChildren() : catalog(claude::make_store(temp.root(), Disk::real()), "/home/dev"), vfs(catalog, false) {
    std::filesystem::create_directories(agents());
    write(starter_log(), R"({"type":"user","uuid":"a","parentUuid":null,"isSidechain":false,)");
    write(agents() / "agent-7.jsonl",
          R"({"type":"user","uuid":"b","parentUuid":null,"isSidechain":true,"agentId":"7",)");
    catalog.rescan();
    starter = catalog.view()->by_id_prefix(kStarter);
    child = catalog.view()->by_id_prefix("agent-7");
    mark = catalog.feed().last_sequence();
  }
  [[nodiscard]] std::filesystem::path project() const {
    return std::filesystem::path(temp.root()) / "projects" / "-work";
  }
  [[nodiscard]] std::filesystem::path starter_log() const { return project() / (std::string(kStarter) + ".jsonl"); }
  [[nodiscard]] std::filesystem::path agents() const { return project() / kStarter / "subagents"; }
  static void write(const std::filesystem::path& path, const std::string& beginning) {
    std::ofstream(path)
        << beginning << R"("sessionId":")" << kStarter
        << R"(","cwd":"/work","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"x"}})"
        << "\n";
  }

  Result<Found> find(const std::string& path) {
    auto call = RequestContext::in_pool();
    Result<Found> found = Found{{NodeId::root(), 1, FileType::directory, CacheTtl::moment, 0, 0}, CacheTtl::moment};
    for (const auto& name : std::filesystem::path(path)) {
      found = found ? vfs.lookup(call, found->attr.node, name.string()) : found;
    }
    return found;
  }
  std::string link(const std::string& path) {
    auto call = RequestContext::in_pool();
    const auto found = find(path);
    const auto target = found ? vfs.readlink(call, found->attr.node) : Result<std::string>(found.error());
    return target ? *target : "error: " + target.error().message;
  }
  std::vector<std::string> list(const std::string& path) {
    auto call = RequestContext::in_pool();
    const auto found = find(path);
    const auto dir = found ? vfs.opendir(call, found->attr.node) : Result<OpenDirPtr>(found.error());
    std::vector<std::string> names;
    if (dir) {
      EXPECT_TRUE(vfs.readdir(call, **dir, 2, [&](const DirectoryItem& item) {
        names.emplace_back(item.name);
        return true;
      }));
    }
    return names;
  }

  TempStore temp;
  Catalog catalog;
  Vfs vfs;
  SessionPtr starter;
  SessionPtr child;
  std::uint64_t mark = 0;
};

TEST_F(SessionChildren, AreInTheFolderOfTheirStarterOnly) {
  const std::string path = std::string(kShownStarter) + "/children";
  EXPECT_THAT(list("projects/work"), ElementsAre("cwd", "claude-" + std::string(kStarter)));
  EXPECT_THAT(list(kShownStarter), Contains("children"));
  EXPECT_THAT(list(path), ElementsAre("claude-agent-7"));
  EXPECT_THAT(list(path + "/claude-agent-7"), Not(Contains("children")));
  EXPECT_EQ(find(path + "/agent-7")->attr.node, find(path + "/claude-agent-7")->attr.node);
  EXPECT_EQ(find("projects/work/claude-agent-7").error().code, Errc::not_found);
  EXPECT_EQ(child->shown_path(), path + "/claude-agent-7");
}

TEST_F(SessionChildren, AreFoundByIdAndByPath) {
  EXPECT_EQ(link("by-id/agent-7"), "../" + child->shown_path());
  EXPECT_EQ(link("by-agent/claude/agent-7"), "../../" + child->shown_path());
  EXPECT_THAT(list("by-id"), ElementsAre(kStarter, "agent-7"));
  EXPECT_THAT(list("by-agent/claude"), ElementsAre("claude-" + std::string(kStarter)));
  for (const std::string& name :
       {std::string("agent-7"), std::string("claude-agent-7"), "/mnt/" + child->shown_path() + "/text"}) {
    const auto found = catalog.find(name);
    EXPECT_TRUE(found && *found == child) << name;
  }
  EXPECT_EQ(*catalog.find("/mnt/" + starter->shown_path() + "/text"), starter);
  ASSERT_EQ(catalog.recent().size(), 1U);
  EXPECT_EQ(catalog.recent().front(), starter);
}

TEST_F(SessionChildren, AreNeverTheLatestSession) {
  std::filesystem::last_write_time(starter_log(),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  catalog.rescan();
  for (const char* word : {"latest", "claude:latest"}) {
    const auto latest = catalog.find(word);
    ASSERT_TRUE(latest) << latest.error().message;
    EXPECT_EQ((*latest)->number(), starter->number()) << word;
  }
}

TEST_F(SessionChildren, APathToABranchIsNotItsSession) {
  const auto branch = catalog.find("/mnt/" + std::string(kShownStarter) + "/branches/000001");
  ASSERT_FALSE(branch);
  EXPECT_EQ(branch.error().code, Errc::invalid_argument);
  EXPECT_TRUE(catalog.find("/mnt/" + std::string(kShownStarter) + "/branches"));
}

TEST_F(SessionChildren, MoveToTheProjectWhenTheirStarterGoes) {
  const std::string before = child->shown_path();
  std::filesystem::remove(starter_log());
  catalog.rescan();
  EXPECT_THAT(list("projects/work"), ElementsAre("cwd", "claude-agent-7"));
  std::vector<std::pair<Change::Kind, std::string>> told;
  for (const Change& change : catalog.feed().after(mark, 100)) {
    if (change.session == child->number()) {
      told.emplace_back(change.kind, change.path);
      EXPECT_EQ(change.starter, change.kind == Change::Kind::session_removed ? starter->number() : 0);
    }
  }
  EXPECT_THAT(told, ElementsAre(std::pair(Change::Kind::session_removed, before),
                                std::pair(Change::Kind::session_added, std::string("projects/work/claude-agent-7"))));
}

TEST_F(SessionChildren, WhatTheKernelKnowsOfTheirFolderIsInvalidated) {
  std::filesystem::rename(agents() / "agent-7.jsonl", temp.root() + "/away");
  catalog.rescan();
  mark = catalog.feed().last_sequence();
  const auto home = find(kShownStarter);
  ASSERT_TRUE(home);
  EXPECT_EQ(find(std::string(kShownStarter) + "/children").error().code, Errc::not_found);
  std::filesystem::rename(temp.root() + "/away", agents() / "agent-7.jsonl");
  catalog.rescan();
  const auto folder = find(std::string(kShownStarter) + "/children");
  ASSERT_TRUE(folder && find(std::string(kShownStarter) + "/children/claude-agent-7"));
  std::filesystem::remove(agents() / "agent-7.jsonl");
  catalog.rescan();
  const auto all = InvalidationMap(vfs.state()).invalidations_of(catalog.feed().after(mark, 100));
  EXPECT_THAT(all, Contains(Invalidation{home->attr.node, ""}));
  EXPECT_THAT(all, Contains(Invalidation{home->attr.node, "children"}));
  EXPECT_THAT(all, Contains(Invalidation{folder->attr.node, ""}));
  EXPECT_THAT(all, Contains(Invalidation{folder->attr.node, "claude-agent-7"}));
  EXPECT_THAT(list(kShownStarter), Not(Contains("children")));
}

TEST_F(SessionChildren, OfALogWithoutHeaderAreFoundByItsName) {
  std::ofstream(starter_log()) << "\n";
  catalog.rescan();
  EXPECT_THAT(list(starter->shown_path() + "/children"), ElementsAre("claude-agent-7"));
}

}  // namespace
}  // namespace arborfs
