#include <gtest/gtest.h>

#include "fs/nodes/vfs.h"

namespace arborfs {
namespace {

constexpr pid_t kReader = 100;
const NodeId kTitle(Kind::text, 1, 7);
const NodeId kNextTitle(Kind::text, 1, 8);

TEST(StaleRetry, NextOpenOfTheThreadIsRetriedOnce) {
  StaleRetry chances;
  EXPECT_FALSE(chances.take(kReader, kTitle));
  chances.note_refused(kReader, kTitle);
  EXPECT_FALSE(chances.take(kReader + 1, kNextTitle));
  EXPECT_TRUE(chances.take(kReader, kNextTitle));
  EXPECT_FALSE(chances.take(kReader, kNextTitle)) << "once";
}

TEST(StaleRetry, OtherFilesAndTheRefusedNodeAreNotRetried) {
  StaleRetry chances;
  for (const NodeId other : {kTitle, NodeId(Kind::text, 2, 8), NodeId(Kind::entry, 1, 8)}) {
    chances.note_refused(kReader, kTitle);
    EXPECT_FALSE(chances.take(kReader, other));
  }
}

TEST(StaleRetry, UnknownThreadsAreNotRetried) {
  StaleRetry chances;
  chances.note_refused(0, kTitle);
  EXPECT_FALSE(chances.take(0, kNextTitle));
}

}  // namespace
}  // namespace arborfs
