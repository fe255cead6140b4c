// How a program opens a session, and what it can query. tests/conformance/manager_replay_test.cc compares with what the
// agents' own manager does to logs.

#include "core/formats/omp/edit/session_manager.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/formats/omp/store/store.h"
#include "core/json/document.h"
#include "tests/support/temp_store.h"

namespace arborfs::omp {
namespace {

namespace fs = std::filesystem;
using testing::TempStore;

constexpr char kOlder[] = "2026-02-16T10-20-30-000Z_s1";
constexpr char kNewer[] = "2026-02-17T10-20-30-000Z_s2";

class SessionManagerTest : public ::testing::Test {
 protected:
  SessionManagerTest() {
    fs::create_directories(work());
    add(kOlder, "s1");
    add(kNewer, "s2");
    fs::last_write_time(temp_.log("-work", kOlder), fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  [[nodiscard]] std::string work() const { return temp_.root() + "/work"; }
  void add(const std::string& name, const std::string& id) const {
    temp_.write("-work", name,
                TempStore::header(id, work()) + "\n" + TempStore::user("aaaa0001", "", "one") + "\n" +
                    TempStore::user("aaaa0002", "aaaa0001", "two") + "\n" +
                    TempStore::user("aaaa0003", "aaaa0001", "other") + "\n");
  }
  [[nodiscard]] ManagerSettings settings() const {
    ManagerSettings settings;
    settings.home = "/home/nobody";
    settings.state = temp_.root() + "/leaves";
    return settings;
  }
  SessionManager::Ptr open(const std::string& spelled) {
    auto manager = SessionManager::open(store_, spelled, settings());
    EXPECT_TRUE(manager) << (manager ? "" : manager.error().message);
    return manager ? std::move(*manager) : nullptr;
  }
  std::string id_of_continued(const std::string& terminal) {
    auto manager = SessionManager::continue_recent(store_, work(), terminal, settings());
    EXPECT_TRUE(manager) << (manager ? "" : manager.error().message);
    return manager ? (*manager)->header().id : "";
  }

  const TempStore temp_;
  const std::shared_ptr<Store> store_ = open_store(temp_.root());
};

TEST_F(SessionManagerTest, OpenedSessionReflectsItsLog) {
  const auto manager = open("s1");
  ASSERT_TRUE(manager);
  EXPECT_TRUE(manager->is_on_disk());
  EXPECT_EQ(manager->leaf_id(), "aaaa0003");
  EXPECT_EQ(manager->entry("aaaa0002").value(), TempStore::user("aaaa0002", "aaaa0001", "two"));
  EXPECT_EQ(manager->children("aaaa0001"), (std::vector<std::string>{"aaaa0002", "aaaa0003"}));
  EXPECT_TRUE(manager->children("ffff").empty());
  EXPECT_EQ(manager->branch_path(), (std::vector<std::string>{"aaaa0001", "aaaa0003"}));
  EXPECT_EQ(manager->branch_path("aaaa0002"), (std::vector<std::string>{"aaaa0001", "aaaa0002"}));
  EXPECT_EQ(manager->tree().nodes.size(), 3U);
  const auto context = manager->context();
  ASSERT_TRUE(context);
  EXPECT_NE(context->find("other"), std::string::npos);
  EXPECT_EQ(context->find("two"), std::string::npos) << "it is on another branch";
  const auto usage = manager->usage();
  ASSERT_TRUE(usage);
  EXPECT_NE(usage->find("\"cost\":0"), std::string::npos);
}

TEST_F(SessionManagerTest, LabelsAndLeavesReadBack) {
  const auto manager = open("s1");
  ASSERT_TRUE(manager);
  EXPECT_EQ(manager->label("aaaa0001"), "");
  ASSERT_TRUE(manager->set_label("aaaa0001", "here"));
  EXPECT_EQ(manager->label("aaaa0001"), "here");
  const std::string end = manager->leaf_id();
  ASSERT_TRUE(manager->branch("aaaa0002"));
  EXPECT_EQ(manager->leaf_id(), "aaaa0002");
  ASSERT_TRUE(manager->reset_leaf());
  EXPECT_EQ(manager->leaf_id(), "");
  ASSERT_TRUE(manager->reopen());
  EXPECT_EQ(manager->leaf_id(), end);
}

TEST_F(SessionManagerTest, MessagesAndSummariesAreAppendedAtTheLeaf) {
  const auto manager = open("s1");
  ASSERT_TRUE(manager);
  json::Document message;
  ASSERT_TRUE(json::parse(R"({"role":"user","content":"more"})", message));
  const auto id = manager->append_message(message);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(manager->branch_path(), (std::vector<std::string>{"aaaa0001", "aaaa0003", *id}));
  json::Document fields;
  ASSERT_TRUE(json::parse(R"({"fromExtension":true})", fields));
  const auto summary = manager->branch_with_summary("aaaa0002", "Tried, failed", fields);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_NE(manager->entry(*summary)->find("\"fromExtension\":true"), std::string::npos);
  EXPECT_EQ(manager->branch_path(), (std::vector<std::string>{"aaaa0001", "aaaa0002", *summary}));
}

TEST_F(SessionManagerTest, MissingEntriesAndSessionsAreNotFound) {
  const auto manager = open("s1");
  ASSERT_TRUE(manager);
  EXPECT_EQ(manager->entry("ffff").error().code, Errc::not_found);
  EXPECT_EQ(manager->set_label("ffff", "x").error().code, Errc::not_found);
  EXPECT_EQ(manager->branch("ffff").error().code, Errc::not_found);
  json::Document bad;
  ASSERT_TRUE(json::parse(R"({"no":"type"})", bad));
  EXPECT_FALSE(manager->append(bad));
  EXPECT_EQ(SessionManager::open(store_, "nobody", settings()).error().code, Errc::not_found);
  EXPECT_EQ(SessionManager::fork_from(store_, "nobody", work(), settings()).error().code, Errc::not_found);
}

TEST_F(SessionManagerTest, TerminalContinuesItsLastSession) {
  EXPECT_EQ(id_of_continued("pts-1"), "s2") << "the newest one there";
  fs::create_directories(temp_.root() + "/terminal-sessions");
  std::ofstream(temp_.root() + "/terminal-sessions/pts-1") << work() << "\n"
                                                           << temp_.log("-work", kOlder).string() << "\n";
  EXPECT_EQ(id_of_continued("pts-1"), "s1");
  EXPECT_EQ(id_of_continued("pts-2"), "s2") << "another terminal";
}

TEST_F(SessionManagerTest, ContinueBeginsASessionWhereNoneExists) {
  fs::create_directories(temp_.root() + "/elsewhere");
  auto manager = SessionManager::continue_recent(store_, temp_.root() + "/elsewhere", "pts-1", settings());
  ASSERT_TRUE(manager);
  EXPECT_FALSE((*manager)->is_on_disk());
  EXPECT_EQ((*manager)->header().cwd, temp_.root() + "/elsewhere");
}

TEST_F(SessionManagerTest, RelativeWorkingDirectoryIsRefused) {
  EXPECT_EQ(SessionManager::create(store_, "here", settings()).error().code, Errc::invalid_argument);
  EXPECT_EQ(SessionManager::in_memory("here", settings()).error().code, Errc::invalid_argument);
  EXPECT_EQ(SessionManager::continue_recent(store_, "here", "pts-1", settings()).error().code, Errc::invalid_argument);
  EXPECT_EQ(SessionManager::fork_from(store_, "s1", "here", settings()).error().code, Errc::invalid_argument);
}

TEST_F(SessionManagerTest, ForkForAnotherFolderIsOnDiskAtOnce) {
  const std::string elsewhere = temp_.root() + "/elsewhere";
  fs::create_directories(elsewhere);
  auto manager = SessionManager::fork_from(store_, "s1", elsewhere, settings());
  ASSERT_TRUE(manager) << manager.error().message;
  EXPECT_TRUE((*manager)->is_on_disk());
  EXPECT_NE((*manager)->header().id, "s1");
  EXPECT_EQ((*manager)->header().cwd, elsewhere);
  EXPECT_EQ((*manager)->branch_path(), (std::vector<std::string>{"aaaa0001", "aaaa0003"}));
  auto again = SessionManager::open(store_, (*manager)->header().id, settings());
  EXPECT_TRUE(again);
}

}  // namespace
}  // namespace arborfs::omp
