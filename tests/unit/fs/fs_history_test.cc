// history/ without a kernel: its days, their texts, and when they are read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>

#include "core/formats/omp/store/store.h"
#include "fs/nodes/vfs.h"
#include "tests/support/omp_history.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SqliteProgram;
using testing::TempStore;

class FsHistoryTest : public ::testing::Test {
 protected:
  void SetUp() override { ::tzset(); }
  void TearDown() override { ::tzset(); }

  void make() const {
    SqliteProgram program(path());
    program.run(testing::kHistory183);
    add(program, "'one', 1771237230, '/work/pi', 'aaaa'");
    add(program, "'late', 1771282800, '/work/pi', NULL");  // 2026-02-17 at 00:00 in the zone
    add(program, "'## two' || char(10) || char(27) || '[2J', 1771300000, NULL, NULL");
  }
  static void add(SqliteProgram& program, const std::string& values) {
    program.run("INSERT INTO history(prompt, created_at, cwd, session_id) VALUES(" + values + ")");
  }
  [[nodiscard]] std::string path() const { return temp.root() + "/history.db"; }

  Result<NodeId> folder() {
    auto call = RequestContext::in_pool();
    ASSIGN_OR_RETURN(const auto found, vfs.lookup(call, NodeId::root(), "history"));
    return found.attr.node;
  }
  Result<Attr> find(const std::string& name) {
    auto call = RequestContext::in_pool();
    ASSIGN_OR_RETURN(const auto found, vfs.lookup(call, *folder(), name));
    return found.attr;
  }
  Result<std::vector<std::string>> list() {
    auto call = RequestContext::in_pool();
    ASSIGN_OR_RETURN(const auto dir, vfs.opendir(call, *folder()));
    std::vector<std::string> names;
    RETURN_IF_ERROR(vfs.readdir(call, *dir, 2, [&](const DirectoryItem& item) {
      names.emplace_back(item.name);
      return true;
    }));
    return names;
  }
  std::string text_of(const std::string& name) {
    auto call = RequestContext::in_pool();
    const auto attr = find(name);
    const auto file = attr ? vfs.open(call, attr->node) : Result<OpenFilePtr>(attr.error());
    std::string bytes(attr ? attr->size + 1 : 0, '\0');
    const auto got = file ? vfs.read(call, **file, 0, bytes) : Result<std::size_t>(file.error());
    return got ? bytes.substr(0, *got) : "error: " + got.error().message;
  }

  int number = 0;                         // of the prompts that were typed so far
  testing::Variable zone{"TZ", "ABC-1"};  // an hour before UTC
  TempStore temp;
  Catalog catalog{omp::open_store(temp.root()), "/home/dev"};
  Vfs vfs{catalog, false};
};

TEST_F(FsHistoryTest, EachDayIsAFileWithItsPromptsNewestFirst) {
  make();
  EXPECT_THAT(*list(), ElementsAre("2026-02-17.md", "2026-02-16.md"));
  EXPECT_EQ(text_of("2026-02-16.md"), "# 2026-02-16\n\n## 11:20:30  /work/pi  aaaa\n\none\n");
  const std::string text = "# 2026-02-17\n\n## 04:46:40\n\n## two\n^[[2J\n\n## 00:00:00  /work/pi\n\nlate\n";
  EXPECT_EQ(text_of("2026-02-17.md"), text);
  const auto attr = find("2026-02-17.md");
  EXPECT_EQ(attr->size, text.size());
  EXPECT_EQ(attr->mtime_ns, 1771300000LL * 1'000'000'000);
  EXPECT_NE(attr->ino, find("2026-02-16.md")->ino);
}

TEST_F(FsHistoryTest, OtherNamesAreNotFound) {
  make();
  for (const char* name :
       {"2026-02-18.md", "2026-2-16.md", "2026-02-30.md", "2026-02-16", "x.md", "2026-02-16.md.md"}) {
    EXPECT_EQ(find(name).error().code, Errc::not_found) << name;
  }
}

TEST_F(FsHistoryTest, ThePromptOfAnotherProgramChangesOnlyItsDays) {
  make();
  const auto kept = find("2026-02-16.md");
  const auto before = find("2026-02-17.md");
  SqliteProgram program(path());
  add(program, "'three', 1771300060, NULL, NULL");
  const auto after = find("2026-02-17.md");
  EXPECT_EQ(find("2026-02-16.md")->node, kept->node);
  EXPECT_NE(after->node, before->node);
  EXPECT_EQ(after->ino, before->ino);
  EXPECT_EQ(after->mtime_ns, 1771300060LL * 1'000'000'000);
  // A prompt that is typed again moves to its new day.
  program.run("UPDATE history SET created_at = 1771400000 WHERE prompt = 'one'");
  EXPECT_THAT(*list(), ElementsAre("2026-02-18.md", "2026-02-17.md"));
}

TEST_F(FsHistoryTest, AnOpenGetsTheTextThatItsLookupFound) {
  make();
  const std::string before = text_of("2026-02-17.md");
  const auto found = find("2026-02-17.md");
  SqliteProgram program(path());
  add(program, "'three', 1771300060, NULL, NULL");
  EXPECT_NE(text_of("2026-02-17.md"), before);
  auto call = RequestContext::in_pool();
  const auto file = vfs.open(call, found->node);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(vfs.getattr(call, found->node)->size, before.size());
  std::string bytes(before.size() + 1, '\0');
  EXPECT_EQ(bytes.substr(0, *vfs.read(call, **file, 0, bytes)), before);
}

TEST_F(FsHistoryTest, ALongDayOpensToo) {
  make();
  SqliteProgram program(path());
  const std::string prompt(history::kMostKeptText, 'x');
  add(program, "'" + prompt + "', 1771400000, NULL, NULL");
  const std::string text = "# 2026-02-18\n\n## 08:33:20\n\n" + prompt + "\n";
  EXPECT_EQ(text_of("2026-02-18.md"), text);
  add(program, "'newer', 1771500000, NULL, NULL");
  EXPECT_EQ(text_of("2026-02-18.md"), text) << "a text that is not kept";
}

/// What the kernel does for one open(2): it looks the name up and opens the node, and does both again if that is stale.
/// Between each lookup and its open a prompt is typed, and other threads look the day up.
TEST_F(FsHistoryTest, AnOpenOfALongDaySucceedsWhilePromptsAreTypedAllTheTime) {
  make();
  SqliteProgram program(path());
  add(program, "'" + std::string(3 * history::kMostKeptText, 'x') + "', 1771400000, NULL, NULL");
  for (const bool is_own : {false, true}) {
    Result<OpenFilePtr> file = Error{Errc::stale, "not yet"};
    for (int attempt = 0; attempt < 2 && !file; ++attempt) {
      auto call = RequestContext::in_pool(4711);
      const auto found = vfs.lookup(call, *folder(), "2026-02-18.md");
      ASSERT_TRUE(found) << found.error().message;
      for (const pid_t other : {4712, 4713, 4714}) {
        add(program, "'typed " + std::to_string(number++) + "', 1771400000, NULL, NULL");
        auto looking = RequestContext::in_pool(other);
        EXPECT_NE(vfs.lookup(looking, *folder(), "2026-02-18.md")->attr.node, found->attr.node);
      }
      if (is_own) {
        vfs.state().note_own_write(0);  // so that the first open must not get what its lookup found
      }
      auto opening = RequestContext::in_pool(4711);
      file = vfs.open(opening, found->attr.node);
      EXPECT_FALSE(file && is_own && attempt == 0) << "the change must show";
    }
    EXPECT_TRUE(file) << is_own << file.error().message;
  }
}

TEST_F(FsHistoryTest, AHistoryMayAppearAndVanish) {
  EXPECT_THAT(*list(), IsEmpty());
  make();
  EXPECT_THAT(*list(), ElementsAre("2026-02-17.md", "2026-02-16.md"));
  std::filesystem::remove(path());
  EXPECT_THAT(*list(), IsEmpty());
  EXPECT_EQ(find("2026-02-16.md").error().code, Errc::not_found);
  std::ofstream(path()) << std::string(4096, 'x');
  EXPECT_EQ(list().error().code, Errc::corrupt);
}

TEST_F(FsHistoryTest, HistoriesOfSeveralStoresAreOne) {
  make();
  const TempStore other;
  SqliteProgram program(other.root() + "/history.db");
  program.run(testing::kHistory13 + "INSERT INTO history(prompt, created_at) VALUES('between', 1771290000)");
  Catalog both(StoreSet({omp::open_store(temp.root()), omp::open_store(other.root())}), "/home/dev", "");
  const auto days = history::prompt_days(both.stores());
  ASSERT_EQ(days->days.size(), 2U);
  EXPECT_THAT(*history::text_of(both.stores(), days->days.front()),
              "# 2026-02-17\n\n## 04:46:40\n\n## two\n^[[2J\n\n## 02:00:00\n\nbetween\n\n## 00:00:00  "
              "/work/pi\n\nlate\n");
}

TEST_F(FsHistoryTest, TimesThatAreNoneAreOnTheFirstOrLastDay) {
  SqliteProgram program(path());
  program.run(testing::kHistory18);
  add(program, "'never', 9223372036854775807, NULL, NULL");
  add(program, "'before', -9223372036854775807, NULL, NULL");
  EXPECT_THAT(*list(), ElementsAre("9999-12-31.md", "1970-01-02.md"));
  EXPECT_EQ(text_of("1970-01-02.md"), "# 1970-01-02\n\n## 01:00:00\n\nbefore\n");
}

}  // namespace
}  // namespace arborfs
