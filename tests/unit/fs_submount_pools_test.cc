#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "fs/fuse/submount_pools.h"

namespace arborfs {
namespace {

TEST(SubmountPools, AFolderThatHangsKeepsNoOtherWaiting) {
  SubmountPools lanes;
  std::promise<void> answers;
  const auto answered = answers.get_future().share();
  for (int i = 0; i < 10; ++i) {
    lanes.submit("hung", [answered](const std::atomic<bool>*) { answered.wait(); });
  }
  std::promise<void> done;
  lanes.submit("other", [&](const std::atomic<bool>*) { done.set_value(); });
  done.get_future().wait();
  answers.set_value();
  lanes.stop();
}

TEST(SubmountPools, EveryJobIsDoneHoweverManyFoldersThereAreAndWhenItStops) {
  std::atomic<int> done{0};
  const auto job = [&](const std::atomic<bool>*) { ++done; };
  SubmountPools lanes;
  for (int i = 0; i < 50; ++i) {
    lanes.submit("folder " + std::to_string(i), job);
  }
  lanes.stop();
  EXPECT_EQ(done, 50);
  lanes.submit("folder 1", job);
  lanes.submit("late", job);
  EXPECT_EQ(done, 52);
}

}  // namespace
}  // namespace arborfs
