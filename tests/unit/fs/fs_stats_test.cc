// stats/ without a kernel: what its folder lists, and when the sums are made again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/formats/omp/store/store.h"
#include "fs/nodes/vfs.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::ElementsAre;
using testing::TempStore;

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa";

std::string answer(const std::string& id) {
  return R"({"type":"message","id":")" + id + R"(","parentId":null,"timestamp":"2026-02-16T12:00:0)" + id.back() +
         R"(.000Z","message":{"role":"assistant","content":[],"model":"m","usage":{"input":10,"output":2}}})" + "\n";
}

class FsStatsTest : public ::testing::Test {
 protected:
  FsStatsTest() : catalog(omp::open_store(temp.root()), "/home/dev"), vfs(catalog, false) {
    temp.write(kFolder, kName, TempStore::header("aaaa", "/work/pi") + "\n" + answer("e1"));
    catalog.rescan();
  }

  Result<Attr> find(RequestContext& call, const std::string& name) {
    ASSIGN_OR_RETURN(const auto folder, vfs.lookup(call, NodeId::root(), "stats"));
    ASSIGN_OR_RETURN(const auto found, vfs.lookup(call, folder.attr.node, name));
    return found.attr;
  }
  std::string text_of(const std::string& name) {
    auto call = RequestContext::in_pool();
    const auto attr = find(call, name);
    const auto file = attr ? vfs.open(call, attr->node) : Result<OpenFilePtr>(attr.error());
    std::string bytes(attr ? attr->size : 0, '\0');
    const auto got = file ? vfs.read(call, **file, 0, bytes) : Result<std::size_t>(file.error());
    return got ? bytes.substr(0, *got) : "error: " + got.error().message;
  }

  int number = 10;  // of the next answer
  TempStore temp;
  Catalog catalog;
  Vfs vfs;
};

TEST_F(FsStatsTest, ListingTheFolderReadsNoLog) {
  RequestContext quick;
  const auto folder = vfs.lookup(quick, NodeId::root(), "stats");
  ASSERT_TRUE(folder);
  const auto dir = vfs.opendir(quick, folder->attr.node);
  ASSERT_TRUE(dir);
  std::vector<std::string> names;
  EXPECT_TRUE(vfs.readdir(quick, **dir, 2, [&](const DirectoryItem& item) {
    names.emplace_back(item.name);
    return true;
  }));
  EXPECT_THAT(names, ElementsAre("by-day.tsv", "by-project.tsv", "by-model.tsv", "by-agent.tsv"));
  EXPECT_FALSE(find(quick, "by-day.tsv"));
  EXPECT_TRUE(quick.is_deferred());
}

TEST_F(FsStatsTest, FilesHaveTheSumsAndFollowTheLogs) {
  const std::string head =
      "\tmessages\tinput\toutput\treasoning\tcacheRead\tcacheWrite\tcost\tmessagesWithoutCost\t"
      "computedCost\n";
  EXPECT_EQ(text_of("by-model.tsv"), "model" + head + "m\t1\t10\t2\t\t\t\t0\t\t\n");
  EXPECT_EQ(text_of("by-agent.tsv"), "agent" + head + "omp\t1\t10\t2\t\t\t\t0\t\t\n");
  auto call = RequestContext::in_pool();
  const auto before = find(call, "by-model.tsv");
  EXPECT_EQ(find(call, "by-model.tsv")->node, before->node);
  EXPECT_NE(find(call, "by-agent.tsv")->ino, before->ino);
  temp.append(kFolder, kName, answer("e2"));
  catalog.rescan();
  EXPECT_EQ(text_of("by-model.tsv"), "model" + head + "m\t2\t20\t4\t\t\t\t0\t\t\n");
  const auto after = find(call, "by-model.tsv");
  EXPECT_NE(after->node, before->node);
  EXPECT_EQ(after->ino, before->ino);
  vfs.state().note_own_write(1);
  auto later = RequestContext::in_pool();
  EXPECT_EQ(vfs.open(later, before->node).error().code, Errc::stale) << "after a write of this mount";
}

/// What the kernel does for one open(2): it looks the name up and opens the node, and does both again if that is stale.
/// `meanwhile` runs between each lookup and its open.
TEST_F(FsStatsTest, AnOpenSucceedsWhileProgramsWriteAllTheTime) {
  for (const bool is_own : {false, true}) {
    for (const bool changes_sums : {true, false}) {
      for (int round = 0; round < 20; ++round) {
        Result<OpenFilePtr> file = Error{Errc::stale, "not yet"};
        for (int attempt = 0; attempt < 2 && !file; ++attempt) {
          auto call = RequestContext::in_pool(4711);
          const auto attr = find(call, "by-model.tsv");
          ASSERT_TRUE(attr) << attr.error().message;
          temp.append(kFolder, kName,
                      changes_sums ? answer("x" + std::to_string(number++)) : TempStore::user("u", "", "hi") + "\n");
          catalog.rescan();
          if (is_own) {
            vfs.state().note_own_write(1);
          }
          auto other = RequestContext::in_pool();
          EXPECT_TRUE(find(other, "by-day.tsv"));  // another reader sums up
          auto opening = RequestContext::in_pool(4711);
          file = vfs.open(opening, attr->node);
        }
        EXPECT_TRUE(file) << is_own << changes_sums << round << file.error().message;
      }
    }
  }
}

}  // namespace
}  // namespace arborfs
