// The power fails after each operation while a conversation becomes a session of Claude Code: the new log is complete
// or is not there, and an acknowledged one is there.
#include <gtest/gtest.h>

#include <climits>
#include <filesystem>
#include <set>

#include "core/formats/claude/writer.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "tests/support/conversations.h"
#include "tests/support/crash_disk.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::Bytes;
using testing::Found;
using testing::Image;
using testing::Names;

constexpr unsigned kNever = UINT_MAX;

struct CutFork {
  bool is_cut = false;
  bool is_done = false;
  std::string last;
  Image kept;              // if nothing is lost
  std::set<Image> images;  // all that there may be
};

CutFork fork_and_cut(unsigned behind) {
  const testing::TempStore temp;
  const std::string root = temp.root() + "/claude";
  std::filesystem::create_directories(root + "/projects");
  testing::CrashDisk disk;
  auto stores = open_stores({{"claude", root, false}}, Access::write, disk);
  EXPECT_TRUE(stores);
  Catalog catalog(*stores, "/home/sam", "");
  catalog.rescan();
  claude::Writer writer(catalog, {});
  disk.begin(root, behind);
  CutFork fork;
  fork.is_done = writer.adopt(testing::conversation_of(4, 3000), "claude").has_value();
  fork.is_cut = disk.is_off();
  fork.last = disk.last();
  fork.kept = disk.image(Bytes::kept, Names::kept);
  fork.images = disk.images({Bytes::kept, Bytes::dropped, Bytes::torn, Bytes::nuls});
  return fork;
}

std::vector<std::string> logs_of(const Image& image) {
  std::vector<std::string> logs;
  for (const auto& [name, found] : image) {
    if (found.kind == Found::Kind::file && name.ends_with(".jsonl")) {
      logs.push_back(found.bytes);
    }
  }
  return logs;
}

TEST(CutForkToClaude, LeavesACompleteLogOrNone) {
  const auto whole = logs_of(fork_and_cut(kNever).kept);
  ASSERT_EQ(whole.size(), 1U);
  unsigned behind = 0;
  for (bool is_cut = true; is_cut && behind < 100; ++behind) {
    const CutFork fork = fork_and_cut(behind);
    SCOPED_TRACE("power off behind operation " + std::to_string(behind) + " (" + fork.last + ")");
    is_cut = fork.is_cut;
    for (const Image& image : fork.images) {
      const auto logs = logs_of(image);
      EXPECT_EQ(logs.size(), fork.is_done ? 1U : logs.size());
      for (const std::string& log : logs) {
        EXPECT_EQ(log.size(), whole[0].size()) << "all ids are of one length";
        EXPECT_EQ(log.find('\0'), std::string::npos);
      }
    }
  }
  EXPECT_GT(behind, 5U) << "the disk is not the one that is written through";
}

}  // namespace
}  // namespace arborfs
