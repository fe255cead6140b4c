// Processes that write to sessions of goat, Opal, Claude Code and Codex and are killed at random moments. What was
// acknowledged is there, earlier records are unchanged, the store can be read and written, and leftovers go.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/json/document.h"
#include "tests/support/claude_acts.h"
#include "tests/support/codex_acts.h"
#include "tests/support/goat_acts.h"
#include "tests/support/killed_acts.h"
#include "tests/support/opal_acts.h"
#include "tests/support/split_disk.h"

namespace arborfs {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the acts are all of it
namespace fs = std::filesystem;

WriteSettings allowing_delete() {
  WriteSettings settings;
  settings.allow_delete = true;
  return settings;
}

std::map<std::string, std::string> work_files(const GoatStage& stage) {
  std::map<std::string, std::string> found;
  for (const char* name : kWorkFiles) {
    found[name] = GoatStage::read(stage.work() + "/" + name);
  }
  return found;
}

/// Each version of a working file exists completely: in the working directory or in a checkpoint.
void expect_versions_kept(const GoatStage& stage, const std::map<std::string, std::string>& before) {
  std::set<std::string> kept;
  for (const auto& entry : fs::recursive_directory_iterator(stage.root())) {
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with(".arborfs-")) {
      kept.insert(GoatStage::read(entry.path().string()));
    }
  }
  for (const auto& [name, bytes] : before) {
    EXPECT_TRUE(bytes.empty() || kept.contains(bytes)) << "a version of " << name << " is lost";
  }
  for (const auto& [name, bytes] : work_files(stage)) {
    EXPECT_TRUE(bytes.empty() || bytes == "old " + name || bytes == "new " + name) << name << " is torn: " << bytes;
  }
}

/// A new mount takes time. After most acts that were not acknowledged, only the files are compared.
bool is_looked_at_closely(int round) {
  return round % 5 == 0;
}

class KilledGoatActs : public ::testing::TestWithParam<GoatAct> {
 protected:
  void kill_once(KillMoments& moments, int round) {
    const GoatAct& act = GetParam();
    SplitDisk disk;
    GoatStage stage(disk, allowing_delete());
    act.prepare(stage);
    stage.start();
    disk.set_apart(act.trash_is_apart ? stage.settings().trash : "");
    const std::string messages = stage.file("messages.jsonl");
    const auto work = work_files(stage);
    const bool is_done = is_acknowledged_before_kill(moments, [&] { return act.run(stage); });
    disk.set_apart("");
    if (!is_done && !is_looked_at_closely(round)) {
      expect_files_kept(stage, messages, work);
      return;
    }
    stage.start();
    stage.writer().take_back_parts();
    EXPECT_TRUE(!is_done || act.is_done(stage)) << "what was acknowledged is not there";
    if (!stage.session() || !goat_trash(stage).empty()) {
      const auto restored = restore_to_goat(stage);
      ASSERT_TRUE(restored) << restored.error().message;
    }
    EXPECT_TRUE(stage.file("messages.jsonl").starts_with(messages)) << "earlier messages have changed";
    expect_versions_kept(stage, work);
    expect_next_append(stage);
    for (const auto& [id, session] : stage.catalog().view()->by_id) {
      json::Document metadata;
      EXPECT_TRUE(json::parse(stage.file("metadata.json", session->stem()), metadata)) << session->stem();
    }
  }

 private:
  /// The session is in the store or in the trash with all its earlier messages.
  static void expect_files_kept(const GoatStage& stage, const std::string& messages,
                                const std::map<std::string, std::string>& work) {
    std::vector<std::string> places{stage.base() + "/s1"};
    for (const Trashed& trashed : goat_trash(stage)) {
      places.push_back(stage.settings().trash + "/" + trashed.name + "/files/s1");
    }
    std::erase_if(places, [](const std::string& place) { return !fs::exists(place); });
    EXPECT_FALSE(places.empty()) << "the session is gone";
    for (const std::string& place : places) {
      json::Document metadata;
      EXPECT_TRUE(GoatStage::read(place + "/messages.jsonl").starts_with(messages)) << place;
      EXPECT_TRUE(json::parse(GoatStage::read(place + "/metadata.json"), metadata)) << place;
    }
    expect_versions_kept(stage, work);
  }
  static void expect_next_append(GoatStage& stage) {
    ASSERT_TRUE(stage.session()) << "the session is gone";
    const auto written = append_to_goat(stage, "the next one");
    ASSERT_TRUE(written) << written.error().message;
    const std::string all = stage.file("messages.jsonl");
    const std::size_t begin = all.rfind('\n', all.size() - 2) + 1;
    EXPECT_NE(all.find("the next one", begin), std::string::npos) << all;
    json::Document line;
    EXPECT_TRUE(json::parse(std::string_view(all).substr(begin), line)) << all;
  }
};

INSTANTIATE_TEST_SUITE_P(Kills, KilledGoatActs, ::testing::ValuesIn(kGoatActs), name_of_goat_act);

TEST_P(KilledGoatActs, LoseAndTearNothing) {
  KillMoments moments;
  for (int round = 0; round < kill_rounds() && !HasFatalFailure(); ++round) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "round " + std::to_string(round));
    kill_once(moments, round);
  }
}

Result<void> restore_to_opal(OpalStage& stage) {
  const std::string trash = stage.root() + "/trash";
  for (const Trashed& one : Trash(trash).list()) {
    if (auto done = restore_session(trash, one, stage.catalog().stores()); !done) {
      return done;
    }
  }
  stage.start();
  return {};
}

class KilledOpalActs : public ::testing::TestWithParam<OpalAct> {
 protected:
  void kill_once(KillMoments& moments, int round) {
    const OpalAct& act = GetParam();
    SplitDisk disk;
    OpalStage stage(disk, allowing_delete());
    const std::string before = stage.bytes();
    const bool is_done = is_acknowledged_before_kill(moments, [&] { return act.run(stage); });
    if (!is_done && !is_looked_at_closely(round) && fs::exists(stage.log())) {
      expect_log_kept(stage, before);
      return;
    }
    stage.start();
    EXPECT_TRUE(!is_done || act.is_done(stage)) << "what was acknowledged is not there";
    const auto restored = restore_to_opal(stage);
    ASSERT_TRUE(restored) << restored.error().message;
    expect_log_kept(stage, before);
    EXPECT_TRUE(stage.hidden().empty()) << stage.hidden().front() << " is left";
    expect_each_continues(stage);
  }

 private:
  static void expect_log_kept(const OpalStage& stage, const std::string& before) {
    const std::string now = stage.bytes();
    EXPECT_TRUE(now == before || now.find("\n" + std::string(GetParam().keeps)) != std::string::npos) << now;
    EXPECT_TRUE(now.ends_with("\n")) << now;
  }
};

const OpalAct kOpalRemoval{"remove", [](OpalStage& stage) { return stage.writer().remove(stage.session()); },
                           [](OpalStage& stage) { return stage.sessions().empty(); }};

std::vector<OpalAct> opal_acts_to_kill() {
  std::vector<OpalAct> acts(std::begin(kOpalActs), std::end(kOpalActs));
  acts.push_back(kOpalRemoval);
  return acts;
}

INSTANTIATE_TEST_SUITE_P(Kills, KilledOpalActs, ::testing::ValuesIn(opal_acts_to_kill()),
                         [](const ::testing::TestParamInfo<OpalAct>& with) {
                           std::string name = with.param.name;
                           std::erase_if(name, [](char c) { return c == ' '; });
                           return name;
                         });

TEST_P(KilledOpalActs, LoseAndTearNothing) {
  KillMoments moments;
  for (int round = 0; round < kill_rounds() && !HasFatalFailure(); ++round) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "round " + std::to_string(round));
    kill_once(moments, round);
  }
}

/// Restoring is killed too: the session is in the store or in the trash, and the next restore completes it.
TEST(KilledOpalRestore, LosesNothing) {
  KillMoments moments;
  for (int round = 0; round < kill_rounds() && !::testing::Test::HasFatalFailure(); ++round) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "round " + std::to_string(round));
    SplitDisk disk;
    OpalStage stage(disk, allowing_delete());
    GoatStage::put(stage.folder() + "/feed/plan.md", "the plan");
    const std::string before = stage.bytes();
    ASSERT_TRUE(stage.writer().remove(stage.session()));
    disk.set_apart(round % 2 == 0 ? stage.root() + "/trash" : "");
    const std::string trash = stage.root() + "/trash";
    is_acknowledged_before_kill(
        moments, [&] { return restore_session(trash, Trash(trash).list().front(), stage.catalog().stores(), disk); });
    stage.start();
    const auto restored = restore_to_opal(stage);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(stage.bytes(), before);
    EXPECT_EQ(GoatStage::read(stage.folder() + "/feed/plan.md"), "the plan");
    EXPECT_TRUE(stage.hidden().empty()) << stage.hidden().front() << " is left";
  }
}

class KilledCodexActs : public ::testing::TestWithParam<CodexAct> {};
INSTANTIATE_TEST_SUITE_P(Kills, KilledCodexActs, ::testing::ValuesIn(kCodexActs), name_of_codex_act);

/// Of a thread in several files, too: what a killed removal or restore left is completed by the next restore.
TEST_P(KilledCodexActs, LoseAndTearNothing) {
  const CodexAct& act = GetParam();
  KillMoments moments;
  for (int round = 0; round < kill_rounds() / 4 && !HasFatalFailure(); ++round) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "round " + std::to_string(round));
    SplitDisk disk;
    CodexStage stage(disk, allowing_delete());
    act.prepare(stage);
    stage.start();
    disk.set_apart(act.trash_is_apart ? stage.settings().trash : "");
    const CodexBefore before = codex_before(stage);
    const bool is_done = is_acknowledged_before_kill(moments, [&] { return act.run(stage); });
    disk.set_apart("");
    stage.start();
    EXPECT_TRUE(!is_done || act.is_done(stage)) << "what was acknowledged is not there";
    const auto restored = stage.restore_all();
    ASSERT_TRUE(restored) << restored.error().message;
    ASSERT_TRUE(stage.session() && stage.session(kLegacy)) << "a thread is gone";
    expect_codex_kept(stage, act, before);
  }
}

class KilledClaudeActs : public ::testing::TestWithParam<ClaudeAct> {
 protected:
  static void kill_once(KillMoments& moments) {
    const ClaudeAct& act = GetParam();
    SplitDisk disk;
    ClaudeStage stage(disk, allowing_delete());
    const ClaudeFiles before = prepare_claude_act(act, stage, disk);
    const bool is_done = is_acknowledged_before_kill(moments, [&] { return act.run(stage); });
    disk.set_apart("");
    expect_claude_kept(stage, before);
    stage.start();
    EXPECT_TRUE(!is_done || act.is_done(stage)) << "what was acknowledged is not there";
    if (!stage.session() || !stage.trash().empty()) {
      const auto restored = claude_acts::restore(stage);
      ASSERT_TRUE(restored) << restored.error().message;
    }
    const auto now = ClaudeStage::files_in(stage.config());
    for (const auto& [path, bytes] : before) {
      const bool is_replaced = path.ends_with("/archived.json");
      EXPECT_TRUE(now.contains(path) && (is_replaced || now.at(path).starts_with(bytes))) << path;
    }
    EXPECT_TRUE(stage.trash().empty());
    expect_next_claude_append(stage);
  }
};

INSTANTIATE_TEST_SUITE_P(Kills, KilledClaudeActs, ::testing::ValuesIn(kClaudeActs), name_of_claude_act);

TEST_P(KilledClaudeActs, LoseAndTearNothing) {
  if (const std::string name = GetParam().name; name == "relocate" || name == "put back") {
    GTEST_SKIP() << "Generated.FollowTheirProjectsAfterKills kills these";
  }
  KillMoments moments;
  for (int round = 0; round < kill_rounds() && !HasFatalFailure(); ++round) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "round " + std::to_string(round));
    kill_once(moments);
  }
}

}  // namespace
}  // namespace arborfs
