// The doctor's findings in stores of agents other than omp and pi.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/store/store_parts.h"
#include "tests/support/paths.h"
#include "tests/support/said_rows.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kId = "11111111-1111-4111-8111-111111111111";
constexpr const char* kBase = "22222222-2222-7222-8222-222222222222";

class DoctorFormatsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string dir() const { return store.root() + "/agent"; }
  void write(const std::string& name, const std::string& text) const {
    const fs::path path = dir() + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }

  /// `kind: text` of each finding of sessions, and `path kind: text` of those of the store; paths below dir().
  std::vector<std::string> findings(const std::string& agent) const {
    auto stores = open_stores({{agent, dir(), false}}, Access::look);
    EXPECT_TRUE(stores) << stores.error().message;
    Catalog catalog(std::move(*stores), store.root(), store.root() + "/state");
    catalog.rescan();
    std::vector<std::string> found;
    for (const auto& [id, session] : catalog.view()->by_id) {
      for (const Finding& finding : examine_session(*session, catalog)) {
        found.push_back(std::string(finding.kind) + ": " + finding.text);
      }
    }
    for (const FileFinding& fault : faults_of(*catalog.stores().at(0))) {
      found.push_back(fault.path.substr(fs::canonical(dir()).string().size() + 1) + " " +
                      std::string(fault.finding.kind) + ": " + fault.finding.text);
    }
    return found;
  }

  testing::TempStore store;
  testing::Variable state{"XDG_STATE_HOME", store.root() + "/state"};
};

using Lines = std::vector<std::string>;

/// The name of a log of an agent that keeps one file a session.
std::string log_name_of(const std::string& agent) {
  if (agent == "claude") {
    return "projects/-w-p/" + std::string(kId) + ".jsonl";
  }
  return agent == "opal" ? "sessions/s1.jsonl"
                         : "sessions/--w-p--/2026-05-01T10-00-00-000Z_0196a000-0000-7000-8000-000000000001.jsonl";
}

TEST_F(DoctorFormatsTest, ARowThatIsWrittenAgainUnchangedIsNoDamage) {
  for (const std::string agent : {"omp", "pi", "claude", "opal"}) {
    fs::remove_all(dir());
    const testing::SaidRow first{"a", "", "user", "x"};
    const testing::SaidRow second{"b", "a", "assistant", "y"};
    write(log_name_of(agent), testing::log_text_of(agent, {first, second, first, second}));
    EXPECT_EQ(findings(agent), Lines{}) << agent;
  }
}

// As Opal's compaction leaves it: it removed the message that a side branch names (opal/FORMAT.md C4).
TEST_F(DoctorFormatsTest, ABranchThatOpalsCompactionCutOffIsNoDamage) {
  const std::string orphan = testing::line_of("opal", {"b", "gone", "user", "x"});
  write(log_name_of("opal"),
        testing::log_text_of("opal", {}) + orphan +
            R"({"id":"s","parent_id":null,"role":"user","content":"so far","metadata":{"type":"compaction_summary"}})"
            "\n");
  EXPECT_EQ(findings("opal"), Lines{});
  write(log_name_of("opal"), testing::log_text_of("opal", {}) + orphan);
  EXPECT_EQ(findings("opal").size(), 1U) << "without a compaction";
}

TEST_F(DoctorFormatsTest, ALogThatAProgramHasOnlyMadeIsNoDamage) {
  for (const std::string agent : {"omp", "pi", "claude", "opal"}) {
    fs::remove_all(dir());
    write(log_name_of(agent), "");
    EXPECT_EQ(findings(agent), Lines{}) << agent;
  }
  fs::remove_all(dir());
  write("sessions/2026/11/22/rollout-2026-11-22T10-00-00-" + std::string(kId) + ".jsonl", "");
  EXPECT_EQ(findings("codex"), Lines{});
  fs::remove_all(dir());
  write("s/metadata.json", R"({"id":"s","cwd":"/w"})");
  EXPECT_EQ(findings("goat"), Lines{});
}

TEST_F(DoctorFormatsTest, AnIdThatIsUsedAgainForOtherContentIsDamage) {
  for (const std::string agent : {"omp", "pi", "claude", "opal"}) {
    fs::remove_all(dir());
    write(log_name_of(agent), testing::log_text_of(agent, {{"a", "", "user", "x"}, {"a", "", "user", "other"}}));
    EXPECT_EQ(findings(agent).size(), 1U) << agent;
  }
}

TEST_F(DoctorFormatsTest, OpenCodeFilesThatAreNoObjects) {
  write("storage/session/p/ses_1.json", R"({"id":"ses_1","directory":"/w"})");
  write("storage/message/ses_1/msg_1.json", R"({"id":"msg_1","role":"user","time":{"created":1}})");
  write("storage/message/ses_1/msg_2.json", R"({"id":"msg_2","role":"assi)");
  write("storage/part/msg_2/prt_1.json", "");
  write("storage/project/p.json", "[1]");
  const Lines found = findings("opencode");
  const Lines wanted = {"missing_parts: the prompt msg_1 has no parts, so its text is unknown",
                        "malformed_file: the file message/ses_1/msg_2.json is not a JSON object (26 bytes)",
                        "malformed_file: the file part/msg_2/prt_1.json is empty",
                        "storage/project/p.json malformed_file: the file of a project is not a JSON object (3 bytes)"};
  for (const std::string& line : wanted) {
    EXPECT_NE(std::find(found.begin(), found.end(), line), found.end()) << line << "\nin:\n"
                                                                        << ::testing::PrintToString(found);
  }
}

TEST_F(DoctorFormatsTest, CodexThreadWithoutItsBase) {
  write("sessions/2026/11/22/rollout-2026-11-22T10-00-00-" + std::string(kId) + ".jsonl",
        R"({"timestamp":"2026-11-22T10:00:00.000Z","type":"session_meta","ordinal":3,"payload":{"id":")" +
            std::string(kId) + R"(","cwd":"/w","timestamp":"2026-11-22T10:00:00.000Z","history_base":{"segment_id":")" +
            kBase + R"(","thread_id":")" + kBase + R"(","end_ordinal_exclusive":3,"end_byte_offset":100}}})" + "\n");
  const Lines found = findings("codex");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.back().find("missing_segment: the history of rollout-2026-11-22T10-00-00-"), 0U) << found.back();
  EXPECT_TRUE(found.back().ends_with("which is not there")) << found.back();
}

TEST_F(DoctorFormatsTest, GoatCheckpointsThatCannotBeUsed) {
  write("s/metadata.json", R"({"id":"s","cwd":"/w"})");
  write("s/messages.jsonl", R"({"uuid":"a","message":{"role":"user","content":"x"}})"
                            "\n");
  write("s/checkpoints/one/files/x", "");
  write("s/checkpoints/two/manifest.json",
        R"({"created_at":"2026-01-01T00:00:00Z","files":[{"path":"a.go","exists":true,"hash":")" +
            std::string(64, 'a') + "\"}]}");
  const Lines found = findings("goat");
  ASSERT_EQ(found.size(), 2U) << ::testing::PrintToString(found);
  EXPECT_EQ(found[0].find("unfinished_checkpoint: the checkpoint one has no manifest that can be read: "), 0U);
  EXPECT_EQ(found[1], "missing_content: the checkpoint two lacks the content of a.go");
}

TEST_F(DoctorFormatsTest, OpalFilesBesideTheLogs) {
  write("sessions/a.jsonl", R"({"session_id":"a","current_id":null,"metadata":{}})"
                            "\n");
  write("sessions/b.jsonl", "{}\n");
  write("sessions/.arborfs-0123.tmp", "{}");
  fs::copy_file(fs::path(arborfs::tests::kTestData) / "opal/dets/sessions/5e55106e000000000000000000000001.dets",
                dir() + "/sessions/b.dets");
  EXPECT_EQ(
      findings("opal"),
      (Lines{"sessions/.arborfs-0123.tmp leftover_temporary: the temporary file of an unfinished rewrite of a log "
             "by arborfs",
             "sessions/b.jsonl hidden_log: the table b.dets has the same id and is shown instead"}));
}

TEST_F(DoctorFormatsTest, ClaudeRowsOutsideTheTree) {
  const auto row = [](const std::string& uuid, const std::string& parent) {
    return R"({"parentUuid":)" + parent + R"(,"isSidechain":false,"type":"user","uuid":")" + uuid +
           R"(","message":{"role":"user","content":"x"},"timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","sessionId":")" +
           kId + "\"}\n";
  };
  write("projects/-w/" + std::string(kId) + ".jsonl",
        row("a", "null") + "no JSON\n" + row("b", "\"gone\"") + R"({"type":"user)");
  const Lines found = findings("claude");
  ASSERT_EQ(found.size(), 3U) << ::testing::PrintToString(found);
  EXPECT_EQ(found[0].find("orphan: entry #2 (b) names the parent 'gone'"), 0U) << found[0];
  EXPECT_EQ(found[1].find("malformed_line: 7 bytes at offset "), 0U) << found[1];
  EXPECT_EQ(found[2].find("torn_tail: 13 bytes at offset "), 0U) << found[2];
}

}  // namespace
}  // namespace arborfs
