// Logs of pi are read and never written, and no omp logs are created where pi keeps its logs (omp/FORMAT.md O2).
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/writer/omp_writer.h"
#include "core/views/session_status.h"
#include "tests/support/paths.h"
#include "tests/support/stage.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::Stage;
using testing::Storage;
using testing::TempStore;

const std::string kUuid = "01a1ffda-dc19-779e-873a-5cc104ef1649";

class PiLogs : public ::testing::Test {
 protected:
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(stage_.temp().sessions())) {
      if (entry.is_regular_file()) {
        std::ifstream in(entry.path(), std::ios::binary);
        found[entry.path()] = std::string(std::istreambuf_iterator<char>(in), {});
      }
    }
    return found;
  }
  SessionPtr put(const std::string& lines, const std::string& id = kUuid) {
    stage_.temp().write("-work", "log", TempStore::header(id, "/work") + "\n" + lines);
    stage_.catalog().rescan();
    return stage_.catalog().at({"-work", "log.jsonl"});
  }
  [[nodiscard]] bool is_written_to(const std::string& lines, const std::string& id = kUuid) {
    const auto session = put(lines, id);
    const auto checked = stage_.writer().check(session);
    EXPECT_TRUE(checked || checked.error().code == Errc::read_only) << checked.error().message;
    return checked.has_value();
  }

  Stage stage_{Storage::files};
};

TEST_F(PiLogs, AreNeverWrittenTo) {
  fs::copy(fs::path(tests::kTestData) / "pi/sessions", stage_.temp().sessions(), fs::copy_options::recursive);
  stage_.catalog().rescan();
  const auto before = files();
  const auto view = stage_.catalog().view();
  ASSERT_EQ(view->by_id.size(), before.size());
  for (const auto& [id, session] : view->by_id) {
    SCOPED_TRACE(session->stem());
    ASSERT_TRUE(session->refresh(Depth::details));
    EXPECT_GT(session->read()->index().size(), kNoEntry) << "it can be read";
    OmpWriter& writer = stage_.writer();
    const auto expect_refused = [](const auto& done) {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, Errc::read_only);
      EXPECT_NE(done.error().message.find("pi"), std::string::npos) << done.error().message;
    };
    expect_refused(writer.check(session));
    expect_refused(writer.append(session, Stage::text("more")));
    expect_refused(writer.append(session, Stage::text("more", true)));
    expect_refused(writer.branch(session, "#1"));
    expect_refused(writer.branch(session, "#1", "summary"));
    expect_refused(writer.label(session, {{"#1", "name"}}));
    expect_refused(writer.set_title(session, "title"));
    expect_refused(writer.rewrite(session));
    expect_refused(writer.fork(session));
    expect_refused(writer.move(session, "/work/elsewhere"));
    const SessionStatus status = session_status(*session, stage_.catalog());
    EXPECT_FALSE(status.writable);
    EXPECT_NE(status.read_only_reason.find("pi"), std::string::npos) << status.read_only_reason;
  }
  const auto made = stage_.writer().create({"/tmp", "", "", ""});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::read_only);
  EXPECT_EQ(files(), before);
}

TEST_F(PiLogs, AreRecognisedByEntriesOnlyPiWrites) {
  const std::string snowflake = "1470cb256c2cc772";
  const std::string user = TempStore::user("e1", "", "one") + "\n";
  EXPECT_TRUE(is_written_to(user, snowflake));
  for (const char* entry :
       {R"({"type":"session_info","id":"e2","name":"n"})", R"({"type":"context_edit","id":"e2","targetId":"e1"})",
        R"({"type":"usage","id":"e2","usage":{}})", R"({"type":"model_change","id":"e2","provider":"p","modelId":"m"})",
        R"({"type":"compaction","id":"e2","summary":"s","systemMessage":{}})",
        R"({"type":"branch_summary","id":"e2","summary":"s","usage":{}})",
        R"({"type":"message","id":"e2","message":{"role":"system","content":""}})"}) {
    EXPECT_FALSE(is_written_to(user + entry + "\n", snowflake)) << entry;
  }
}

TEST_F(PiLogs, AmbiguousLogsAreWrittenOnlyWithAnOmpEntry) {
  const std::string user = TempStore::user("e1", "", "one") + "\n";
  EXPECT_FALSE(is_written_to(user));
  for (const char* entry :
       {R"({"type":"model_change","id":"e2","model":"p/m"})", R"({"type":"mode_change","id":"e2","mode":"none"})",
        R"({"type":"custom_message","id":"e2","customType":"c","content":"","attribution":"agent"})",
        R"({"type":"compaction","id":"e2","summary":"s","shortSummary":"t"})",
        R"({"type":"thinking_level_change","id":"e2","configured":null})", R"({"type":"reset_boundary","id":"e2"})"}) {
    EXPECT_TRUE(is_written_to(user + entry + "\n")) << entry;
  }
}

TEST_F(PiLogs, GrowthIdentifiesTheAgent) {
  const std::string user = TempStore::user("e1", "", "one") + "\n";
  const auto session = put(user, "1470cb256c2cc772");
  EXPECT_TRUE(stage_.writer().check(session));
  stage_.temp().append("-work", "log",
                       R"({"type":"session_info","id":"e2","parentId":"e1","name":"n"})"
                       "\n");
  EXPECT_FALSE(stage_.writer().append(session, Stage::text("more")));
  const auto doubtful = put(user);
  EXPECT_FALSE(stage_.writer().check(doubtful));
  stage_.temp().append("-work", "log",
                       R"({"type":"model_change","id":"e2","parentId":"e1","model":"p/m"})"
                       "\n");
  EXPECT_TRUE(stage_.writer().append(doubtful, Stage::text("more")));
}

TEST_F(PiLogs, PiOnlyFieldsAreRefusedInAppends) {
  for (const char* text :
       {R"({"type":"model_change","model":"p/m","modelId":"m"})", R"({"role":"system","content":"x"})",
        R"({"type":"branch_summary","summary":"s","fromId":"root","usage":{}})",
        R"({"type":"thinking_level_change","thinkingLevel":"high","configured":"auto"})"}) {
    const auto command = json_command(text, Dialect::omp13, 1771237231000);
    ASSERT_FALSE(command) << text;
    EXPECT_EQ(command.error().code, Errc::invalid_argument) << text;
  }
  EXPECT_TRUE(json_command(R"({"type":"thinking_level_change","thinkingLevel":"high","configured":"auto"})",
                           Dialect::omp18, 1771237231000));
}

TEST_F(PiLogs, NamedPiLogPreventsNewOmpLogs) {
  const auto session = put(
      TempStore::user("e1", "", "one") + "\n" + R"({"type":"session_info","id":"e2","name":"n"})" + "\n", "my-work");
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->head().header.title, "n");
  const auto made = stage_.writer().create({"/tmp", "", "", ""});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::read_only);
}

TEST_F(PiLogs, KeepTheirNameDuringGrowth) {
  const auto session = put(R"({"type":"session_info","id":"e1","name":"far"})"
                           "\n" +
                           TempStore::user("e2", "e1", std::string(5'000'000, 'x')) + "\n");
  fs::last_write_time(stage_.temp().log("-work", "log"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->head().header.title, "far");
  ASSERT_TRUE(session->let_go());
  stage_.temp().append("-work", "log", TempStore::user("e3", "e2", "more") + "\n");
  ASSERT_TRUE(session->refresh(Depth::head));
  EXPECT_EQ(session->head().header.title, "far");
}

TEST_F(PiLogs, AmbiguousLogsAllowNewSessions) {
  EXPECT_TRUE(stage_.writer().create({"/tmp", "", "", ""})) << "of an empty store nobody knows whose it is";
  put(TempStore::user("e1", "", "one") + "\n");
  EXPECT_TRUE(stage_.writer().create({"/tmp", "", "", ""}));
}

}  // namespace
}  // namespace arborfs
