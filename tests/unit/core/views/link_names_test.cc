// Names of links in by-title/ and recent/ (CONTRACT.md 2.15).
#include "core/views/link_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/cancellation.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/store.h"
#include "tests/support/foreign_store.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using testing::TempStore;

constexpr char kFolder[] = "-work";
constexpr char kTime[] = "2026-02-16T09:12:30.000Z";

/// The time that the header above has, in the time zone of the test.
std::string local(const char* format) {
  std::tm utc{};
  ::strptime(kTime, "%Y-%m-%dT%H:%M:%S", &utc);
  const std::time_t seconds = ::timegm(&utc);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

class LinkNamesTest : public ::testing::Test {
 protected:
  LinkNamesTest() : catalog(omp::make_store(omp::agent_dir_paths(temp.root()), Disk::real()), "/home/dev") {}

  static std::string header(const std::string& id, const std::string& title, const std::string& time = kTime,
                            const std::string& cwd = "/work") {
    return R"({"type":"session","version":3,"id":")" + id + R"(","timestamp":")" + time + R"(","cwd":")" + cwd +
           R"(","title":")" + title + "\"}\n";
  }
  void write(const std::string& id, const std::string& bytes) {
    std::filesystem::create_directories(temp.sessions() / kFolder);
    temp.replace(kFolder, id, bytes);
    catalog.rescan();
  }
  SessionPtr session(const std::string& id) { return catalog.view()->by_id_prefix(id); }
  std::vector<std::string> names_of(const std::vector<std::string>& ids) {
    std::vector<SessionPtr> sessions;
    for (const auto& id : ids) {
      sessions.push_back(session(id));
    }
    EXPECT_TRUE(slugs.read(sessions));
    std::vector<std::string> all;
    for (const auto& named : names.name(LinkNames::kOfAll, *catalog.view(), sessions)) {
      all.push_back(named.name);
    }
    return all;
  }
  SessionPtr find(const std::string& name) { return names.find(LinkNames::kOfAll, *catalog.view(), name); }

  TempStore temp;
  Catalog catalog;
  SessionSlugs slugs;
  LinkNames names{LinkNames::Style::minute, slugs};
  const std::string minute = local("%Y-%m-%dT%H-%M");
};

TEST_F(LinkNamesTest, AreMadeFromCreationAndTitleOrFirstMessage) {
  write("aaaa1111", header("aaaa1111", "Fix the FLAKY test/2"));
  write("bbbb1111", header("bbbb1111", "") + TempStore::user("e1", "", "Größe der 3 Töpfe?") + "\n");
  write("cccc1111", header("cccc1111", ""));
  write("dddd1111", header("dddd1111", "No time", "soon"));
  EXPECT_THAT(names_of({"dddd", "aaaa", "bbbb", "cccc"}),
              ElementsAre("undated-no-time", minute + "-fix-the-flaky-test-2", minute + "-größe-der-3-töpfe",
                          minute + "-no-conversation"));
  LinkNames days(LinkNames::Style::day, slugs);
  const auto named = days.name(1, *catalog.view(), {session("aaaa")});
  EXPECT_EQ(named.front().name, local("%Y-%m-%d") + " fix-the-flaky-test-2");
}

TEST_F(LinkNamesTest, FirstWordsReplaceNoConversation) {
  write("aaaa1111", header("aaaa1111", ""));
  EXPECT_TRUE(slugs.needs_log(*session("aaaa")));
  EXPECT_THAT(names_of({"aaaa"}), ElementsAre(minute + "-no-conversation"));
  EXPECT_FALSE(slugs.needs_log(*session("aaaa"))) << "unchanged";
  temp.append(kFolder, "aaaa1111", TempStore::user("e1", "", "hello") + "\n");
  catalog.rescan();
  EXPECT_TRUE(slugs.needs_log(*session("aaaa")));
  EXPECT_THAT(names_of({"aaaa"}), ElementsAre(minute + "-hello"));
  EXPECT_EQ(find(minute + "-no-conversation"), session("aaaa"));
  temp.append(kFolder, "aaaa1111", TempStore::user("e2", "e1", "more") + "\n");
  catalog.rescan();
  EXPECT_FALSE(slugs.needs_log(*session("aaaa"))) << "what a person typed stays";
}

TEST_F(LinkNamesTest, EqualNamesStayApartWhateverElseChanges) {
  const std::string plain = minute + "-twin";
  write("aaaa1111", header("aaaa1111", "Twin", "2026-02-16T09:12:40.000Z"));
  write("bbbb1111", header("bbbb1111", "Twin", "2026-02-16T09:12:20.000Z"));
  const auto both = names_of({"aaaa", "bbbb"});
  EXPECT_THAT(both, ElementsAre(MatchesRegex(plain + "~[0-9a-f]{8}"), plain)) << "the older has the plain name";
  write("cccc1111", header("cccc1111", "Twin", "2026-02-16T09:12:10.000Z"));
  EXPECT_THAT(names_of({"cccc", "bbbb", "aaaa"}), ElementsAre(MatchesRegex(plain + "~[0-9a-f]{8}"), plain, both[0]));
  std::filesystem::remove(temp.log(kFolder, "bbbb1111"));
  catalog.rescan();
  EXPECT_EQ(names_of({"aaaa"}), std::vector<std::string>{both[0]});
  EXPECT_EQ(find(plain), nullptr);
}

TEST_F(LinkNamesTest, EarlierNamesLeadToTheSession) {
  for (int number = 0; number < 10; ++number) {
    write("aaaa1111", header("aaaa1111", "Title " + std::to_string(number)));
    EXPECT_THAT(names_of({"aaaa"}), ElementsAre(minute + "-title-" + std::to_string(number)));
  }
  EXPECT_EQ(find(minute + "-title-9"), session("aaaa"));
  EXPECT_EQ(find(minute + "-title-2"), session("aaaa"));
  EXPECT_EQ(find(minute + "-title-1"), nullptr) << "their number is bounded";
  write("bbbb1111", header("bbbb1111", "Title 5"));
  EXPECT_THAT(names_of({"bbbb"}), ElementsAre(MatchesRegex(minute + "-title-5~[0-9a-f]{8}")));
  write("aaaa1111", header("aaaa1111", "Title 5"));
  EXPECT_THAT(names_of({"aaaa"}), ElementsAre(minute + "-title-5")) << "its own name again";
  EXPECT_EQ(find(minute + "-title-9"), session("aaaa"));
}

TEST_F(LinkNamesTest, NamesBelongToOneFolder) {
  write("aaaa1111", header("aaaa1111", "Mine"));
  write("bbbb1111", header("bbbb1111", "Theirs", kTime, "/other"));
  const auto view = catalog.view();
  const std::uint32_t mine = view->where.at(session("aaaa")->number()).project->number;
  names.name(mine, *view, {session("aaaa"), session("bbbb")});
  EXPECT_EQ(names.find(mine, *view, minute + "-mine"), session("aaaa"));
  EXPECT_EQ(names.find(mine, *view, minute + "-theirs"), nullptr) << "the session is in another project";
  EXPECT_EQ(names.find(mine + 1, *view, minute + "-mine"), nullptr);
}

/// The reader of a log goes away while it is opened.
class LeavingStore : public testing::ForeignStore {
 public:
  using ForeignStore::ForeignStore;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& /*place*/) const override {
    reader.request_stop();
    return Error{Errc::interrupted, "the reader is gone"};
  }
  mutable std::stop_source reader;
};

TEST_F(LinkNamesTest, WordsOfAReadingThatWasCancelledAreNotKept) {
  write("one", header("one", ""));
  const auto store = std::make_shared<LeavingStore>(temp.root());
  Catalog leaving(StoreSet(store), "/home/dev", "");
  leaving.rescan();
  const auto found = leaving.view()->by_id_prefix("one");
  ASSERT_TRUE(found);
  const Cancellation cancellation(store->reader.get_token());
  EXPECT_EQ(slugs.read({found}).error().code, Errc::interrupted);
  EXPECT_TRUE(slugs.needs_log(*found));
}

}  // namespace
}  // namespace arborfs
