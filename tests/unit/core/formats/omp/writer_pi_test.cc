// Logs of pi are written by pi's rules (pi/FORMAT.md), and the contents of a log decide whether it belongs to pi or omp
// (omp/FORMAT.md O2).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/omp/store/store.h"
#include "core/formats/registry.h"
#include "core/views/session_facts.h"
#include "tests/support/paths.h"
#include "tests/support/stage.h"

namespace arborfs::omp {
namespace {

namespace fs = std::filesystem;
using testing::Stage;
using testing::Storage;
using testing::TempStore;

const std::string kUuid = "01a1ffda-dc19-779e-873a-5cc104ef1649";
const std::string kTime = R"("timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")";
const std::string kId = "\"[0-9a-f]{8}\"";

std::string stamp(const std::string& parent) {
  return "\"id\":" + kId + ",\"parentId\":" + parent + "," + kTime;
}

void expect_match(const std::string& line, const std::string& pattern) {
  EXPECT_TRUE(std::regex_match(line, std::regex(pattern))) << line << "\nis not\n" << pattern;
}

std::string file_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    found.push_back(line);
  }
  return found;
}

class PiLogs : public ::testing::Test {
 protected:
  SessionPtr put(const std::string& lines, const std::string& id = kUuid) {
    stage_.temp().write("-work", "log", TempStore::header(id, "/work") + "\n" + lines);
    stage_.catalog().rescan();
    return stage_.catalog().at({"-work", "log.jsonl"});
  }
  /// A session of two messages, e1 and its child e2.
  SessionPtr put_two() {
    return put(TempStore::user("e1", "", "one") + "\n" + TempStore::user("e2", "e1", "two") + "\n");
  }
  [[nodiscard]] bool is_of_pi(const std::string& lines, const std::string& id = kUuid) {
    const auto session = put(lines, id);
    EXPECT_TRUE(stage_.writer().check(session));
    return is_of_pi(session);
  }
  [[nodiscard]] static bool is_of_pi(const SessionPtr& session) {
    EXPECT_TRUE(session->refresh(Depth::index));
    return dialect_of(session->read()->index()) == Dialect::pi;
  }
  Result<AppendResult> append_json(const SessionPtr& session, const std::string& text) {
    return stage_.writer().append_text(session, {text, true, ""});
  }
  [[nodiscard]] std::string last(const SessionPtr& session) const { return stage_.lines(session).back(); }
  [[nodiscard]] static std::string title(const SessionPtr& session) {
    EXPECT_TRUE(session->refresh(Depth::index));
    return session->title();
  }

  Stage stage_{Storage::files};
};

TEST_F(PiLogs, TakeMessages) {
  const auto session = put_two();
  const std::string before = stage_.bytes(session);
  const auto written = stage_.writer().append_text(session, {"three", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "e2");
  EXPECT_TRUE(stage_.bytes(session).starts_with(before));
  expect_match(last(session), R"(\{"type":"message",)" + stamp("\"e2\"") +
                                  R"(,"message":\{"role":"user","content":\[\{"type":"text","text":"three"\}\],)"
                                  R"("timestamp":\d{13}\}\})");
  EXPECT_EQ(Stage::leaf_id(session), written->id);
  EXPECT_TRUE(is_of_pi(session));
}

TEST_F(PiLogs, KeepImagesAndLongTextsInTheLog) {
  const auto session = put_two();
  const std::string data(16 * 1024, 'A');
  const std::string words(1 << 20, 'w');
  ASSERT_TRUE(append_json(session, R"({"role":"user","content":[{"type":"image","data":")" + data +
                                       R"(","mimeType":"image/png"},{"type":"text","text":")" + words + "\"}]}"));
  EXPECT_NE(last(session).find("\"data\":\"" + data + "\""), std::string::npos);
  EXPECT_NE(last(session).find("\"text\":\"" + words + "\""), std::string::npos);
  EXPECT_FALSE(fs::exists(stage_.temp().root() + "/blobs"));
}

TEST_F(PiLogs, TakeTheEntriesOfPi) {
  const auto session = put_two();
  const struct {
    std::string given;
    std::string written;
  } kEntries[] = {
      {R"({"type":"model_change","modelId":"m","provider":"p"})",
       R"(\{"type":"model_change",)" + stamp(".*") + R"(,"provider":"p","modelId":"m"\})"},
      {R"({"type":"thinking_level_change","thinkingLevel":"high"})",
       R"(\{"type":"thinking_level_change",)" + stamp(".*") + R"(,"thinkingLevel":"high"\})"},
      {R"({"type":"custom_message","customType":"c","content":"x","display":true})",
       R"(\{"type":"custom_message","customType":"c","content":"x","display":true,)" + stamp(".*") + R"(\})"},
      {R"({"type":"custom","customType":"c","data":{"n":1}})",
       R"(\{"type":"custom","customType":"c","data":\{"n":1\},)" + stamp(".*") + R"(\})"},
      {R"({"type":"compaction","summary":"s","tokensBefore":5,"firstKeptEntryId":"e2","fromHook":true})",
       R"(\{"type":"compaction",)" + stamp(".*") +
           R"(,"summary":"s","firstKeptEntryId":"e2","tokensBefore":5,"fromHook":true\})"},
      {R"({"type":"context_edit","targetId":"e1","replacement":null})",
       R"(\{"type":"context_edit",)" + stamp(".*") + R"(,"targetId":"e1","replacement":null\})"},
      {R"({"type":"session_info","name":"n"})", R"(\{"type":"session_info",)" + stamp(".*") + R"(,"name":"n"\})"},
      {R"({"type":"label","targetId":"e1"})", R"(\{"type":"label",)" + stamp(".*") + R"(,"targetId":"e1"\})"},
      {R"({"role":"system","content":"","sections":{"rules":"r"}})",
       R"(\{"type":"message",)" + stamp(".*") +
           R"(,"message":\{"role":"system","content":"","sections":\{"rules":"r"\},"timestamp":\d{13}\}\})"},
  };
  for (const auto& entry : kEntries) {
    const auto done = append_json(session, entry.given);
    ASSERT_TRUE(done) << entry.given << done.error().message;
    expect_match(last(session), entry.written);
  }
  EXPECT_EQ(title(session), "n");
  ASSERT_TRUE(append_json(session, R"({"type":"usage","kind":"k","provider":"p","model":"m","usage":{"input":3}})"));
  EXPECT_NE(last(session).find(R"("cost":{"input":0)"), std::string::npos) << last(session);
}

TEST_F(PiLogs, RefuseWhatPiDoesNotKnow) {
  const auto session = put_two();
  const std::string before = stage_.bytes(session);
  for (const char* text :
       {R"({"type":"model_change","model":"p/m"})",
        R"({"type":"model_change","provider":"p","modelId":"m","model":"x"})",
        R"({"type":"mode_change","mode":"none"})", R"({"type":"title_change","title":"t"})",
        R"({"type":"reset_boundary"})", R"({"type":"session_init","systemPrompt":"s"})", R"({"type":"unheard_of"})",
        R"({"type":"custom_message","customType":"c","content":"","display":true,"attribution":"agent"})",
        R"({"type":"custom_message","customType":"c","content":""})", R"({"type":"session_info"})",
        R"({"type":"thinking_level_change","thinkingLevel":null})",
        R"({"type":"context_edit","targetId":"e1","replacement":"x"})",
        R"({"type":"compaction","summary":"s","firstKeptEntryId":"e1","tokensBefore":1,"shortSummary":"t"})",
        R"({"role":"developer","content":"x"})", R"({"role":"hookMessage","content":"x"})",
        R"({"role":"assistant","content":"no blocks"})"}) {
    const auto done = append_json(session, text);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, Errc::invalid_argument) << text;
  }
  EXPECT_EQ(stage_.bytes(session), before);
}

TEST_F(PiLogs, BranchWithSummaryTellsTheLeafThatWasLeft) {
  const auto session = put_two();
  ASSERT_TRUE(stage_.writer().branch(session, "e1", "went wrong"));
  expect_match(last(session),
               R"(\{"type":"branch_summary",)" + stamp("\"e1\"") + R"(,"fromId":"e2","summary":"went wrong"\})");
  const std::string leaf = Stage::leaf_id(session);
  ASSERT_TRUE(stage_.writer().branch(session, "root", "anew"));
  expect_match(last(session),
               R"(\{"type":"branch_summary",)" + stamp("null") + R"(,"fromId":")" + leaf + R"(","summary":"anew"\})");
}

TEST_F(PiLogs, BranchWithoutSummaryWritesNothing) {
  const auto session = put_two();
  const std::string before = stage_.bytes(session);
  ASSERT_TRUE(stage_.writer().branch(session, "e1"));
  EXPECT_EQ(stage_.bytes(session), before);
  EXPECT_EQ(Stage::leaf_id(session), "e1");
  const auto written = stage_.writer().append(session, Stage::text("other"));
  ASSERT_TRUE(written);
  EXPECT_EQ(written->parent_id, "e1");
}

TEST_F(PiLogs, LabelsAndTitlesAreEntriesBehindTheLeaf) {
  const auto session = put_two();
  ASSERT_TRUE(stage_.writer().label(session, {{"e1", "start"}}));
  expect_match(last(session), R"(\{"type":"label",)" + stamp("\"e2\"") + R"(,"targetId":"e1","label":"start"\})");
  const std::string label = Stage::leaf_id(session);
  ASSERT_TRUE(stage_.writer().label(session, {{"e1", ""}}));
  expect_match(last(session), R"(\{"type":"label",)" + stamp("\"" + label + "\"") + R"(,"targetId":"e1"\})");
  const std::string before = stage_.bytes(session);
  const std::string leaf = Stage::leaf_id(session);
  const auto named = stage_.writer().set_title(session, " A\nname ");
  ASSERT_TRUE(named);
  EXPECT_EQ(*named, "A name");
  EXPECT_TRUE(stage_.bytes(session).starts_with(before));
  expect_match(last(session), R"(\{"type":"session_info",)" + stamp("\"" + leaf + "\"") + R"(,"name":"A name"\})");
  EXPECT_EQ(title(session), "A name");
  const std::string after = stage_.bytes(session);
  ASSERT_TRUE(stage_.writer().set_title(session, "A name"));
  const auto automatic = stage_.writer().set_title(session, "made up", false, "auto");
  ASSERT_TRUE(automatic);
  EXPECT_EQ(*automatic, "A name") << "only users give names";
  EXPECT_EQ(stage_.bytes(session), after);
}

TEST_F(PiLogs, AWholeForkNamesItsSourceByPath) {
  const auto session = put_two();
  ASSERT_TRUE(stage_.writer().set_title(session, "Work"));
  const auto lines = stage_.lines(session);
  const std::string path = session->store().path_of(session->place());
  const auto fork = stage_.writer().fork(session, "", false, "");
  ASSERT_TRUE(fork) << fork.error().message;
  EXPECT_EQ(fork->session->place().folder, "--work--");
  expect_match(fork->session->place().file, R"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_)" + fork->id + R"(\.jsonl)");
  expect_match(fork->id, "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  const auto copied = stage_.lines(fork->session);
  ASSERT_EQ(copied.size(), lines.size() + 1);
  expect_match(copied[0], R"(\{"type":"session","version":3,"id":")" + fork->id + "\"," + kTime +
                              R"(,"cwd":"/work","parentSession":")" + path + R"("\})");
  EXPECT_TRUE(std::equal(lines.begin() + 1, lines.end(), copied.begin() + 1));
  expect_match(copied.back(), R"(\{"type":"session_info",.*,"name":"Work .fork."\})");
  EXPECT_EQ(Stage::field(copied.back(), "parentId"), Stage::field(lines.back(), "id"));
  EXPECT_EQ(title(fork->session), "Work (fork)");
  EXPECT_TRUE(is_of_pi(fork->session));
  const auto own = stage_.writer().fork(session);
  ASSERT_TRUE(own);
  EXPECT_EQ(stage_.lines(own->session).size(), lines.size()) << "pi gives a fork no other name";
}

TEST_F(PiLogs, AForkOfAPathHasItsLabelsAtTheEnd) {
  const auto session = put_two();
  ASSERT_TRUE(stage_.writer().label(session, {{"e1", "start"}, {"e2", "other"}}));
  ASSERT_TRUE(stage_.writer().set_title(session, "Work"));
  const auto fork = stage_.writer().fork(session, "e1", false, "Part");
  ASSERT_TRUE(fork) << fork.error().message;
  const auto lines = stage_.lines(fork->session);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], TempStore::user("e1", "", "one"));
  expect_match(lines[2], R"(\{"type":"label",)" + stamp("\"e1\"") + R"(,"targetId":"e1","label":"start"\})");
  expect_match(lines[3], R"(\{"type":"session_info",)" + stamp("\"" + Stage::field(lines[2], "id") + "\"") +
                             R"(,"name":"Part"\})");
  EXPECT_EQ(Stage::field(lines[0], "parentSession"), session->store().path_of(session->place()));
}

TEST_F(PiLogs, AMoveChangesThePlaceAndTheWorkingDirectory) {
  const auto session = put_two();
  ASSERT_TRUE(stage_.writer().set_title(session, "Work"));
  const auto before = stage_.lines(session);
  const auto moved = stage_.writer().move(session, "/work/else:where");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(session->place().folder, "--work-else-where--");
  const auto after = stage_.lines(session);
  EXPECT_EQ(after[0], TempStore::header(kUuid, "/work/else:where"));
  EXPECT_TRUE(std::equal(before.begin() + 1, before.end(), after.begin() + 1, after.end()));
  EXPECT_EQ(title(session), "Work");
}

TEST_F(PiLogs, NewSessionsAreOfPiWhereOnlyPiIs) {
  put_two();
  const auto made = stage_.writer().create({"/tmp", "A title", "/srv/first.jsonl", "p/m/large"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->session->place().folder, "--tmp--");
  const auto lines = stage_.lines(made->session);
  ASSERT_EQ(lines.size(), 3U);
  expect_match(lines[0], R"(\{"type":"session","version":3,"id":")" + made->id + "\"," + kTime +
                             R"(,"cwd":"/tmp","parentSession":"/srv/first\.jsonl"\})");
  expect_match(lines[1], R"(\{"type":"session_info",)" + stamp("null") + R"(,"name":"A title"\})");
  expect_match(lines[2], R"(\{"type":"model_change",)" + stamp(kId) + R"(,"provider":"p","modelId":"m/large"\})");
  EXPECT_EQ(title(made->session), "A title");
  EXPECT_TRUE(is_of_pi(made->session));
  EXPECT_TRUE(stage_.writer().append(made->session, Stage::text("more")));
  EXPECT_EQ(stage_.writer().create({"/tmp", "", "", "no-provider"}).error().code, Errc::invalid_argument);
  EXPECT_EQ(stage_.writer().create({"/tmp", "", "", "m", "", "p"}).error().code, Errc::not_permitted);
  const auto continued = stage_.writer().create({"/tmp", "", made->id, ""});
  ASSERT_TRUE(continued) << continued.error().message;
  EXPECT_EQ(continued->session->head().header.parent_session, stage_.store().path_of(made->session->place()));
  const auto of_nothing = stage_.writer().create({"/tmp", "", "no such session", ""});
  ASSERT_FALSE(of_nothing);
  EXPECT_EQ(of_nothing.error().code, Errc::not_found);
  const auto of_omp = stage_.writer().create({"/tmp", "", "", "", "omp"});
  ASSERT_FALSE(of_omp);
  EXPECT_EQ(of_omp.error().code, Errc::read_only);
}

/// The ids of the entries, and what is read from all of them.
struct Seen {
  std::vector<std::string> ids;
  std::map<std::string, std::string> labels;
  std::string title;
  bool operator==(const Seen&) const = default;
};

Seen seen(const SessionPtr& session) {
  Seen found;
  EXPECT_TRUE(session->refresh(Depth::index));
  const auto guard = session->read();
  const LogIndex& index = guard->index();
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    found.ids.push_back(index.id(ordinal).text);
  }
  for (const Label& label : index.labels()) {
    found.labels[label.target.text] = label.text;
  }
  found.title = index.header().title;
  return found;
}

/// Logs that pi wrote, one with a torn end, and two of old versions, which the first write migrates as pi does (B4).
TEST_F(PiLogs, GenuineLogsKeepWhatIsInThem) {
  fs::copy(fs::path(tests::kTestData) / "pi/sessions", stage_.temp().sessions(), fs::copy_options::recursive);
  stage_.catalog().rescan();
  const auto view = stage_.catalog().view();
  ASSERT_EQ(view->by_id.size(), 7U);
  for (const auto& [id, session] : view->by_id) {
    SCOPED_TRACE(session->stem());
    Seen before = seen(session);
    const bool is_migrated = session->head().header.migrated;
    const std::string bytes = stage_.bytes(session);
    EXPECT_TRUE(session_status(*session, stage_.catalog()).writable);
    const auto written = stage_.writer().append(session, Stage::text("more"));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->parent_id, before.ids.back());
    before.ids.push_back(written->id);
    EXPECT_EQ(seen(session), before);
    EXPECT_TRUE(is_of_pi(session));
    EXPECT_EQ(Stage::leaf_id(session), written->id);
    const std::string after = stage_.bytes(session);
    EXPECT_TRUE(is_migrated || after.starts_with(bytes));
    const std::string header = after.substr(0, after.find('\n'));
    EXPECT_NE(header.find("\"version\":3"), std::string::npos) << header;
    EXPECT_EQ(header.find("\"title\""), std::string::npos) << header;
    EXPECT_EQ(after.find("hookMessage"), std::string::npos);
    EXPECT_EQ(after.find("firstKeptEntryIndex"), std::string::npos);
  }
}

TEST_F(PiLogs, OfOldVersionsKeepTheirNameOutOfTheHeader) {
  stage_.temp().write("-work", "log",
                      R"({"type":"session","version":2,"id":")" + kUuid +
                          R"(","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work"})" + "\n" +
                          TempStore::user("e1", "", "one") + "\n" +
                          R"({"type":"session_info","id":"e2","parentId":"e1","name":"n"})" + "\n");
  stage_.catalog().rescan();
  const auto session = stage_.catalog().at({"-work", "log.jsonl"});
  ASSERT_TRUE(stage_.writer().append(session, Stage::text("more")));
  EXPECT_EQ(stage_.lines(session)[0], R"({"type":"session","version":3,"id":")" + kUuid +
                                          R"(","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/work"})");
  EXPECT_EQ(title(session), "n");
}

/// A session dir: its logs are directly in it, whatever their cwd (pi/FORMAT.md A2).
TEST(PiSessionDir, TakesAllThatAnAgentDirTakes) {
  const TempStore temp;
  const std::string dir = temp.root() + "/flat";
  fs::create_directories(dir);
  std::ofstream(dir + "/log.jsonl") << TempStore::header(kUuid, "/work") << "\n"
                                    << TempStore::user("e1", "", "one") << "\n";
  WriteSettings settings;
  settings.allow_delete = true;
  settings.trash = temp.root() + "/trash";
  const auto store = make_store(session_dir_paths(dir), Disk::real(), pi_format(), LogLayout::flat);
  Catalog catalog(store, "/home/nobody", temp.root() + "/state");
  catalog.rescan();
  Writer writer(catalog, settings);
  const LogPlace place{std::string(kSessionsItself), "log.jsonl"};
  const auto session = catalog.at(place);
  ASSERT_TRUE(session);
  ASSERT_TRUE(writer.append(session, Stage::text("two")));
  ASSERT_TRUE(writer.set_title(session, "Flat"));
  const auto lines = lines_of_text(file_text(dir + "/log.jsonl"));
  ASSERT_TRUE(writer.move(session, "/elsewhere"));
  EXPECT_EQ(session->place(), place) << "it stays where pi lists it";
  const auto moved = lines_of_text(file_text(dir + "/log.jsonl"));
  EXPECT_EQ(moved[0], TempStore::header(kUuid, "/elsewhere"));
  EXPECT_TRUE(std::equal(lines.begin() + 1, lines.end(), moved.begin() + 1, moved.end()));
  for (const auto& made : {writer.fork(session), writer.create({"/tmp", "", "", "", "pi"})}) {
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(fs::exists(dir + "/" + made->session->place().file));
  }
  const std::string bytes = file_text(dir + "/log.jsonl");
  ASSERT_TRUE(writer.remove(session));
  EXPECT_FALSE(fs::exists(dir + "/log.jsonl"));
  const auto trashed = Trash(settings.trash).list();
  ASSERT_EQ(trashed.size(), 1U);
  EXPECT_EQ(trashed[0].title, "Flat");
  ASSERT_TRUE(restore_session(settings.trash, trashed[0], catalog.stores()));
  EXPECT_EQ(file_text(dir + "/log.jsonl"), bytes);
  EXPECT_FALSE(fs::exists(dir + "/sessions"));
}

TEST_F(PiLogs, AreRecognisedByEntriesOnlyPiWrites) {
  const std::string snowflake = "1470cb256c2cc772";
  const std::string user = TempStore::user("e1", "", "one") + "\n";
  EXPECT_FALSE(is_of_pi(user, snowflake));
  for (const char* entry :
       {R"({"type":"session_info","id":"e2","name":"n"})", R"({"type":"context_edit","id":"e2","targetId":"e1"})",
        R"({"type":"usage","id":"e2","usage":{}})", R"({"type":"model_change","id":"e2","provider":"p","modelId":"m"})",
        R"({"type":"compaction","id":"e2","summary":"s","systemMessage":{}})",
        R"({"type":"branch_summary","id":"e2","summary":"s","usage":{}})",
        R"({"type":"message","id":"e2","message":{"role":"system","content":""}})"}) {
    EXPECT_TRUE(is_of_pi(user + entry + "\n", snowflake)) << entry;
  }
}

TEST_F(PiLogs, AmbiguousLogsAreOfPiUnlessTheyHaveAnEntryOfOmp) {
  const std::string user = TempStore::user("e1", "", "one") + "\n";
  EXPECT_TRUE(is_of_pi(user));
  for (const char* entry :
       {R"({"type":"model_change","id":"e2","model":"p/m"})", R"({"type":"mode_change","id":"e2","mode":"none"})",
        R"({"type":"custom_message","id":"e2","customType":"c","content":"","attribution":"agent"})",
        R"({"type":"compaction","id":"e2","summary":"s","shortSummary":"t"})",
        R"({"type":"thinking_level_change","id":"e2","configured":null})", R"({"type":"reset_boundary","id":"e2"})"}) {
    EXPECT_FALSE(is_of_pi(user + entry + "\n")) << entry;
  }
}

TEST_F(PiLogs, GrowthIdentifiesTheAgent) {
  const std::string user = TempStore::user("e1", "", "one") + "\n";
  const auto session = put(user, "1470cb256c2cc772");
  EXPECT_FALSE(is_of_pi(session));
  stage_.temp().append("-work", "log",
                       R"({"type":"session_info","id":"e2","parentId":"e1","name":"n"})"
                       "\n");
  EXPECT_TRUE(append_json(session, R"({"type":"model_change","provider":"p","modelId":"m"})"));
  EXPECT_TRUE(is_of_pi(session));
  const auto doubtful = put(user);
  EXPECT_TRUE(is_of_pi(doubtful));
  stage_.temp().append("-work", "log",
                       R"({"type":"model_change","id":"e2","parentId":"e1","model":"p/m"})"
                       "\n");
  EXPECT_TRUE(append_json(doubtful, R"({"type":"mode_change","mode":"none"})"));
  EXPECT_FALSE(is_of_pi(doubtful));
}

TEST_F(PiLogs, PiOnlyFieldsAreRefusedInLogsOfOmp) {
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
  EXPECT_EQ(session->title(), "n");
  const auto made = stage_.writer().create({"/tmp", "", "", ""});
  ASSERT_TRUE(made);
  EXPECT_TRUE(is_of_pi(made->session));
}

TEST_F(PiLogs, KeepTheirNameDuringGrowth) {
  const auto session = put(R"({"type":"session_info","id":"e1","name":"far"})"
                           "\n" +
                           TempStore::user("e2", "e1", std::string(5'000'000, 'x')) + "\n");
  fs::last_write_time(stage_.temp().log("-work", "log"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->title(), "far");
  ASSERT_TRUE(session->evict());
  stage_.temp().append("-work", "log", TempStore::user("e3", "e2", "more") + "\n");
  ASSERT_TRUE(session->refresh(Depth::head));
  EXPECT_EQ(session->title(), "far");
}

TEST_F(PiLogs, AmbiguousLogsAllowNewSessions) {
  const auto first = stage_.writer().create({"/tmp", "", "", ""});
  ASSERT_TRUE(first) << "of an empty store nobody knows whose it is";
  EXPECT_FALSE(is_of_pi(first->session));
  put(TempStore::user("e1", "", "one") + "\n");
  const auto second = stage_.writer().create({"/tmp", "", "", ""});
  ASSERT_TRUE(second);
  EXPECT_FALSE(is_of_pi(second->session));
}

}  // namespace
}  // namespace arborfs::omp
