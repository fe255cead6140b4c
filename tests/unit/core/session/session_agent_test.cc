// Which agent a session belongs to, and how that shows in names, session.json, attributes and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "core/views/session_facts.h"
#include "core/views/session_views.h"
#include "core/write/writer.h"
#include "fs/nodes/vfs.h"
#include "tests/support/foreign_store.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::ForeignStore;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::TempStore;

constexpr char kUuid[] = "01a1ffda-dc19-779e-873a-5cc104ef1649";
constexpr char kOther[] = "01a1ffda-dc19-779e-873a-5cc104ef1650";
constexpr char kOfOmp[] = R"({"type":"mode_change","id":"m1","parentId":null,"mode":"plan"})";
constexpr char kOfPi[] = R"({"type":"model_change","id":"m1","parentId":null,"provider":"p","modelId":"m"})";

std::string json_of(const Session& session, const Catalog& catalog) {
  const auto view = make_view(session, *find_view("session.json"), 0, catalog);
  return view ? *view->content->read_all() : view.error().message;
}

class AgentOfSession : public ::testing::Test {
 protected:
  AgentOfSession() : catalog(omp::open_store(temp.root()), "/home/dev") {}
  SessionPtr put(const std::string& id, const std::string& lines, const std::string& name = "log") {
    temp.write("-work", name, TempStore::header(id, "/work") + "\n" + lines);
    catalog.rescan();
    return catalog.at({"-work", name + ".jsonl"});
  }
  /// True if the view lists the session under this agent.
  [[nodiscard]] bool is_listed(const SessionPtr& session, std::string_view agent) const {
    const auto view = catalog.view();
    return view->by_id_prefix(session->identity().id, agent) == session;
  }

  TempStore temp;
  Catalog catalog;
};

TEST_F(AgentOfSession, HeaderDecidesUntilTheIndexIsRead) {
  const auto omp = put("aaaa000011112222", "", "omp");
  const auto pi = put(kUuid, "", "pi");
  EXPECT_EQ(omp->agent(), "omp");
  EXPECT_EQ(omp->format_name(), "omp-jsonl");
  EXPECT_EQ(pi->agent(), "pi");
  EXPECT_EQ(pi->format_name(), "pi-jsonl");
  EXPECT_EQ(&pi->format(), &omp::format());
  EXPECT_TRUE(is_listed(omp, "omp") && is_listed(pi, "pi"));
  EXPECT_FALSE(is_listed(omp, "pi") || is_listed(pi, "omp"));
  ASSERT_TRUE(pi->refresh(Depth::index));
  EXPECT_EQ(pi->agent(), "pi");
}

TEST_F(AgentOfSession, EntriesCorrectTheHeaderOnce) {
  const auto session = put(kUuid, std::string(kOfOmp) + "\n");
  ASSERT_TRUE(session->refresh(Depth::raw));
  EXPECT_EQ(session->agent(), "pi");
  const auto epoch = session->raw()->epoch;
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->agent(), "omp");
  EXPECT_NE(session->raw()->epoch, epoch) << "session.json differs";
  EXPECT_TRUE(session->is_misplaced());
  EXPECT_FALSE(session->is_renamed());
  const auto seen = catalog.feed().last_sequence();
  catalog.rescan();
  EXPECT_TRUE(is_listed(session, "omp"));
  for (const auto& change : catalog.feed().after(seen, 10)) {
    EXPECT_EQ(change.kind, Change::Kind::catalog_changed) << "the session has kept its place";
  }
}

TEST_F(AgentOfSession, GrownLogKeepsTheAgentThatItsEntriesShowed) {
  const auto session = put(kUuid, std::string(kOfOmp) + "\n");
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(100);
  std::filesystem::last_write_time(temp.log("-work", "log"), old);
  ASSERT_TRUE(session->refresh(Depth::index));
  ASSERT_TRUE(session->evict()) << "the log is at rest";
  temp.append("-work", "log", TempStore::user("e1", "m1", "one") + "\n");
  ASSERT_TRUE(session->refresh(Depth::head));
  EXPECT_EQ(session->agent(), "omp");
}

TEST_F(AgentOfSession, EntriesOfPiMakeItASessionOfPi) {
  const auto session = put("s1", std::string(kOfPi) + "\n");
  EXPECT_EQ(session->agent(), "omp");
  ASSERT_TRUE(session->refresh(Depth::index));
  EXPECT_EQ(session->agent(), "pi");
}

TEST_F(AgentOfSession, SessionJsonEndsWithAgentAndFormat) {
  const auto session = put("aaaa000011112222", "");
  EXPECT_EQ(json_of(*session, catalog),
            "{\n  \"type\": \"session\",\n  \"version\": 3,\n  \"id\": \"aaaa000011112222\",\n"
            "  \"timestamp\": \"2026-02-16T10:20:30.000Z\",\n  \"cwd\": \"/work\",\n"
            "  \"agent\": \"omp\",\n  \"format\": \"omp-jsonl\"\n}\n");
}

TEST_F(AgentOfSession, AttributesNameTheAgent) {
  const auto session = put(kUuid, "");
  ASSERT_TRUE(session->refresh(Depth::index));
  const auto attributes = session_attributes(*session);
  ASSERT_TRUE(attributes);
  EXPECT_THAT(*attributes, Contains(std::pair<std::string, std::string>("agent", "pi")));
}

TEST_F(AgentOfSession, AgentAndColonSelectAmongEqualNames) {
  const auto omp = put("bbbb0001", "", "omp-log");
  const auto pi = put(kUuid, "", "pi-log");
  put(kOther, "", "other-log");
  EXPECT_EQ(*catalog.find("omp:bb"), omp);
  EXPECT_EQ(*catalog.find("pi:" + std::string(kUuid)), pi);
  EXPECT_EQ(*catalog.find("pi:pi-log"), pi);
  EXPECT_EQ(*catalog.find("omp:latest"), omp);
  EXPECT_EQ(catalog.find("pi:01a1").error().code, Errc::invalid_argument);
  EXPECT_EQ(catalog.find("pi:bb").error().code, Errc::not_found);
  EXPECT_THAT(catalog.find("pi:bb").error().message, HasSubstr("of pi"));
  EXPECT_EQ(catalog.find("heron:bb").error().code, Errc::not_found);
}

class ForeignSession : public ::testing::Test {
 protected:
  ForeignSession()
      : catalog(std::make_shared<ForeignStore>(temp.root()), "/home/dev"), vfs(catalog, false), writer(catalog, {}) {
    temp.write("-work", "1111", TempStore::header("h1", "/work") + "\n" + TempStore::user("e1", "", "one") + "\n");
    catalog.rescan();
    session = catalog.at({"-work", "1111.jsonl"});
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
      EXPECT_TRUE(vfs.readdir(call, **dir, 0, [&](const DirectoryItem& item) {
        names.emplace_back(item.name);
        return true;
      }));
    }
    return names;
  }

  TempStore temp;
  Catalog catalog;
  Vfs vfs;
  omp::Writer writer;
  SessionPtr session;
};

TEST_F(ForeignSession, NameBeginsWithTheAgentAndTheBareNameIsFound) {
  ASSERT_TRUE(session);
  EXPECT_EQ(session->agent(), "heron");
  EXPECT_EQ(session->shown_path(), "projects/work/heron-1111");
  EXPECT_THAT(list("projects/work"), ElementsAre(".", "..", "cwd", "heron-1111"));
  EXPECT_EQ(find("projects/work/1111")->attr.node, find("projects/work/heron-1111")->attr.node);
  EXPECT_EQ(find("projects/work/2222").error().code, Errc::not_found);
  for (const char* name : {"1111", "heron-1111", "heron:1111", "heron:h1", "h1"}) {
    const auto found = catalog.find(name);
    EXPECT_TRUE(found && *found == session) << name;
  }
}

TEST_F(ForeignSession, BareNameOfTwoSessionsIsNoName) {
  temp.write("-other", "1111", TempStore::header("h2", "/work") + "\n");
  catalog.rescan();
  EXPECT_THAT(list("projects/work"), ElementsAre(".", "..", "cwd", "heron-1111", "heron-1111~2"));
  EXPECT_EQ(find("projects/work/1111").error().code, Errc::not_found);
}

TEST_F(ForeignSession, IsListedUnderItsAgent) {
  EXPECT_THAT(list("by-agent"), ElementsAre(".", "..", "heron"));
  EXPECT_THAT(list("by-agent/heron"), ElementsAre(".", "..", "heron-1111"));
  EXPECT_EQ(link("by-agent/heron/heron-1111"), "../../projects/work/heron-1111");
  EXPECT_EQ(link("by-agent/heron/h1"), "../../projects/work/heron-1111");
  EXPECT_EQ(link("by-agent/heron/h"), "../../projects/work/heron-1111");
  EXPECT_EQ(find("by-agent/omp").error().code, Errc::not_found);
}

TEST_F(ForeignSession, FolderOfAnAgentGoesWithItsLastSession) {
  const auto folder = find("by-agent/heron");
  ASSERT_TRUE(folder);
  std::filesystem::remove(temp.log("-work", "1111"));
  catalog.rescan();
  EXPECT_THAT(list("by-agent"), ElementsAre(".", ".."));
  auto call = RequestContext::in_pool();
  EXPECT_FALSE(vfs.getattr(call, folder->attr.node));
}

TEST_F(ForeignSession, SessionJsonHasItsOwnHeaderInNative) {
  EXPECT_EQ(json_of(*session, catalog),
            "{\n  \"id\": \"h1\",\n  \"cwd\": \"/work\",\n  \"timestamp\": \"2026-02-16T10:20:30.000Z\",\n"
            "  \"agent\": \"heron\",\n  \"format\": \"heron-jsonl\",\n  \"native\": {\n    \"type\": \"session\",\n"
            "    \"version\": 3,\n    \"id\": \"h1\",\n    \"timestamp\": \"2026-02-16T10:20:30.000Z\",\n"
            "    \"cwd\": \"/work\"\n  }\n}\n");
}

TEST_F(ForeignSession, HasNoControlFilesButThoseForNotesAndFork) {
  const std::string folder = "projects/work/heron-1111";
  const auto names = list(folder);
  EXPECT_THAT(names, Contains("context.json"));
  EXPECT_THAT(names, IsSupersetOf({"fork", "label"}));
  for (const char* control : {"append", "branch"}) {
    EXPECT_THAT(names, Not(Contains(control)));
    EXPECT_EQ(find(folder + "/" + control).error().code, Errc::not_found) << control;
  }
  EXPECT_THAT(list(folder + "/branches/current"), ElementsAre()) << "a link";
  EXPECT_THAT(list(folder + "/branches/000001-e1"), Not(Contains("append")));
  EXPECT_EQ(find(folder + "/branches/000001-e1/append").error().code, Errc::not_found);
  const auto title = find(folder + "/title");
  ASSERT_TRUE(title);
  EXPECT_TRUE(title->attr.writable);
}

TEST_F(ForeignSession, EveryWriteSaysThatItIsOnlyRead) {
  const auto expect_refused = [](const Error& error) {
    EXPECT_EQ(error.code, Errc::read_only);
    EXPECT_EQ(error.message, "sessions of heron can be read but not changed");
  };
  expect_refused(writer.check(session).error());
  expect_refused(writer.label(session, {{"e1", "name"}}, false).error());
  expect_refused(writer.set_title(session, "new", false).error());
  expect_refused(writer.fork(session, "", false).error());
  expect_refused(writer.move(session, "/tmp", false).error());
  EXPECT_EQ(writer.create({"/tmp", "", "", ""}).error().code, Errc::read_only);
  WriteSettings deleting;
  deleting.allow_delete = true;
  expect_refused(omp::Writer(catalog, deleting).remove(session, true).error());
  const auto status = session_status(*session, catalog);
  EXPECT_FALSE(status.writable);
  EXPECT_EQ(status.read_only_reason, "sessions of heron can be read but not changed");
  EXPECT_TRUE(std::filesystem::exists(temp.log("-work", "1111")));
}

}  // namespace
}  // namespace arborfs
