#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "fs/fuse/request_threads.h"

namespace arborfs {
namespace {

TEST(SubmountPools, HungFolderDelaysNoOther) {
  SubmountPools pools;
  std::promise<void> answers;
  const auto answered = answers.get_future().share();
  for (int i = 0; i < 10; ++i) {
    pools.submit({0, "hung"}, [answered](std::stop_source&) { answered.wait(); });
  }
  std::promise<void> done;
  pools.submit({0, "other"}, [&](std::stop_source&) { done.set_value(); });
  done.get_future().wait();
  answers.set_value();
  pools.stop();
}

TEST(SubmountPools, EveryJobRunsEvenAfterStop) {
  std::atomic<int> done{0};
  const auto job = [&](std::stop_source&) { ++done; };
  SubmountPools pools;
  for (int i = 0; i < 50; ++i) {
    pools.submit({0, "folder " + std::to_string(i)}, job);
  }
  pools.stop();
  EXPECT_EQ(done, 50);
  pools.submit({0, "folder 1"}, job);
  pools.submit({0, "late"}, job);
  EXPECT_EQ(done, 52);
}

}  // namespace
}  // namespace arborfs
