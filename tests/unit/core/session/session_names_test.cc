// Names of sessions (CONTRACT.md 2.15).
#include "core/session/session_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/cancellation.h"
#include "core/entry/names.h"
#include "core/formats/omp/store/agent_dir.h"
#include "core/formats/omp/store/store.h"
#include "core/session/catalog.h"
#include "tests/support/foreign_store.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
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

class SessionNamesTest : public ::testing::Test {
 protected:
  SessionNamesTest() : catalog(omp::make_store(omp::agent_dir_paths(temp.root()), Disk::real()), "/home/dev") {
    EXPECT_TRUE(catalog.read_names());
  }

  static std::string header(const std::string& id, const std::string& title, const std::string& time = kTime,
                            const std::string& cwd = "/work") {
    return R"({"type":"session","version":3,"id":")" + id + R"(","timestamp":")" + time + R"(","cwd":")" + cwd +
           R"(","title":")" + title + "\"}\n";
  }
  void put(const std::string& id, const std::string& bytes) {
    std::filesystem::create_directories(temp.sessions() / kFolder);
    temp.replace(kFolder, id, bytes);
  }
  void write(const std::string& id, const std::string& bytes) {
    put(id, bytes);
    catalog.rescan();
  }
  SessionPtr session(const std::string& id) { return catalog.view()->by_id_prefix(id); }
  std::string name_of(const std::string& id) { return catalog.view()->where.at(session(id)->number()).name(); }
  /// By any name in the project of /work.
  SessionPtr find(const std::string& name) {
    const auto view = catalog.view();
    return view->find_in(*view->project("work"), name);
  }

  TempStore temp;
  Catalog catalog;
  const std::string minute = local("%Y-%m-%dT%H-%M");
};

TEST_F(SessionNamesTest, AreMadeFromCreationAndTitleOrFirstMessage) {
  put("aaaa1111", header("aaaa1111", "Fix the FLAKY test/2"));
  put("bbbb1111", header("bbbb1111", "") + TempStore::user("e1", "", "Größe der 3 Töpfe?") + "\n");
  put("cccc1111", header("cccc1111", ""));
  write("dddd1111", header("dddd1111", "No time", "soon"));
  EXPECT_EQ(name_of("aaaa"), minute + "-fix-the-flaky-test-2");
  EXPECT_EQ(name_of("bbbb"), minute + "-größe-der-3-töpfe");
  EXPECT_EQ(name_of("cccc"), minute + "-no-conversation");
  EXPECT_EQ(name_of("dddd"), "undated-no-time");
}

TEST_F(SessionNamesTest, UntilTheyAreReadTheLogsNameTheSessions) {
  write("aaaa1111", header("aaaa1111", "Title"));
  Catalog other(omp::make_store(omp::agent_dir_paths(temp.root()), Disk::real()), "/home/dev");
  other.rescan();
  const auto found = other.view()->by_id_prefix("aaaa");
  EXPECT_EQ(other.view()->path_of(found->number()), "projects/work/aaaa1111");
  ASSERT_TRUE(other.read_names_of({found}));
  EXPECT_EQ(other.view()->path_of(found->number()), "projects/work/" + minute + "-title");
}

TEST_F(SessionNamesTest, FirstWordsReplaceNoConversation) {
  write("aaaa1111", header("aaaa1111", ""));
  EXPECT_EQ(name_of("aaaa"), minute + "-no-conversation");
  EXPECT_FALSE(session("aaaa")->needs_words()) << "unchanged";
  temp.append(kFolder, "aaaa1111", TempStore::user("e1", "", "hello") + "\n");
  catalog.rescan();
  EXPECT_EQ(name_of("aaaa"), minute + "-hello");
  EXPECT_EQ(find(minute + "-no-conversation"), session("aaaa"));
  temp.append(kFolder, "aaaa1111", TempStore::user("e2", "e1", "more") + "\n");
  ASSERT_TRUE(session("aaaa")->refresh(Depth::head));
  EXPECT_FALSE(session("aaaa")->needs_words()) << "what a person typed stays";
}

TEST_F(SessionNamesTest, ALongLogInWhichNobodySpeaksIsReadAgainWhenItHasDoubled) {
  const std::string silent =
      R"({"type":"thinking_level_change","id":"t1","parentId":null,"timestamp":"soon","thinkingLevel":")" +
      std::string(std::size_t{5} << 20U, 'x') + "\"}\n";
  write("aaaa1111", header("aaaa1111", "") + silent);
  EXPECT_EQ(name_of("aaaa"), minute + "-no-conversation");
  temp.append(kFolder, "aaaa1111", TempStore::user("e1", "t1", "hello") + "\n");
  ASSERT_TRUE(session("aaaa")->refresh(Depth::head));
  EXPECT_FALSE(session("aaaa")->needs_words());
  temp.append(kFolder, "aaaa1111", silent);
  catalog.rescan();
  EXPECT_EQ(name_of("aaaa"), minute + "-hello");
}

TEST_F(SessionNamesTest, EqualNamesStayApartWhateverElseChanges) {
  const std::string plain = minute + "-twin";
  put("aaaa1111", header("aaaa1111", "Twin", "2026-02-16T09:12:40.000Z", "/other"));
  write("bbbb1111", header("bbbb1111", "Twin", "2026-02-16T09:12:20.000Z"));
  EXPECT_EQ(name_of("bbbb"), plain) << "the older has the plain name";
  EXPECT_EQ(name_of("aaaa"), plain + "~2") << "also in another project";
  write("cccc1111", header("cccc1111", "Twin", "2026-02-16T09:12:10.000Z"));
  EXPECT_EQ(name_of("cccc"), plain + "~3");
  EXPECT_EQ(name_of("bbbb"), plain);
  std::filesystem::remove(temp.log(kFolder, "bbbb1111"));
  catalog.rescan();
  EXPECT_EQ(name_of("aaaa"), plain + "~2");
  EXPECT_EQ(find(plain), nullptr);
  write("dddd1111", header("dddd1111", "Twin"));
  EXPECT_EQ(name_of("dddd"), plain) << "free again";
}

TEST_F(SessionNamesTest, ManyMayWishOneName) {
  for (int number = 0; number < 300; ++number) {
    const std::string id = "id" + std::to_string(1000 + number);
    put(id, header(id, "Twin"));
  }
  catalog.rescan();
  EXPECT_EQ(name_of("id1000"), minute + "-twin");
  EXPECT_EQ(name_of("id1001"), minute + "-twin~2");
  EXPECT_EQ(name_of("id1299"), minute + "-twin~300");
}

TEST_F(SessionNamesTest, FormerNamesLeadToTheSession) {
  for (int number = 0; number < 100; ++number) {
    write("aaaa1111", header("aaaa1111", "Title " + std::to_string(number)));
    EXPECT_EQ(name_of("aaaa"), minute + "-title-" + std::to_string(number));
  }
  for (int number = 0; number < 100; ++number) {
    EXPECT_EQ(find(minute + "-title-" + std::to_string(number)), session("aaaa")) << number;
  }
  EXPECT_EQ(find("aaaa1111"), session("aaaa")) << "the name of the log, and the id";
  write("bbbb1111", header("bbbb1111", "Title 5"));
  EXPECT_EQ(name_of("bbbb"), minute + "-title-5~2");
  write("aaaa1111", header("aaaa1111", "Title 5"));
  EXPECT_EQ(name_of("aaaa"), minute + "-title-5") << "its own name again";
  EXPECT_EQ(catalog.view()->named(minute + "-title-99"), session("aaaa"));
  const auto view = catalog.view();
  write("cccc1111", header("cccc1111", "Else", kTime, "/other"));
  const auto now = catalog.view();
  EXPECT_EQ(now->find_in(*now->project("other"), minute + "-title-99"), nullptr) << "in another project";
}

TEST_F(SessionNamesTest, ARenameIsOneChange) {
  write("aaaa1111", header("aaaa1111", "Before"));
  const auto seen = catalog.feed().last_sequence();
  const auto number = session("aaaa")->number();
  write("aaaa1111", header("aaaa1111", "After"));
  EXPECT_EQ(session("aaaa")->number(), number);
  std::vector<std::string> renames;
  for (const Change& change : catalog.feed().after(seen, 100)) {
    EXPECT_NE(change.kind, Change::Kind::session_added);
    EXPECT_NE(change.kind, Change::Kind::session_removed);
    EXPECT_NE(change.kind, Change::Kind::catalog_changed);
    if (change.kind == Change::Kind::session_renamed) {
      renames.push_back(change.path_before + " " + change.path);
    }
  }
  EXPECT_THAT(renames, ElementsAre("projects/work/" + minute + "-before projects/work/" + minute + "-after"));
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

TEST_F(SessionNamesTest, WordsOfAReadingThatWasCancelledAreNotKept) {
  write("one", header("one", ""));
  const auto store = std::make_shared<LeavingStore>(temp.root());
  Catalog leaving(StoreSet(store), "/home/dev", "");
  leaving.rescan();
  const auto found = leaving.view()->by_id_prefix("one");
  ASSERT_TRUE(found);
  const Cancellation cancellation(store->reader.get_token());
  EXPECT_EQ(found->read_words().error().code, Errc::interrupted);
  EXPECT_TRUE(found->needs_words());
}

}  // namespace
}  // namespace arborfs
