// When the request threads stay awake for the next request.
#include <gtest/gtest.h>

#include "fs/fuse/request_threads.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;

constexpr BusyPoll::Clock::time_point kStart{1000s};
constexpr auto kStep = BusyPoll::kSoon / 2;

TEST(BusyPoll, SingleRequestIsNotBrisk) {
  BusyPoll pace;
  EXPECT_FALSE(pace.is_brisk());
  pace.came(kStart);
  pace.answered(kStart);
  EXPECT_FALSE(pace.is_brisk());
}

TEST(BusyPoll, RequestSoonAfterAnAnswerIsBrisk) {
  BusyPoll pace;
  pace.came(kStart);
  EXPECT_EQ(pace.answered(kStart + 10ms), kStart + 10ms + BusyPoll::kSoon) << "however long the answer took";
  pace.came(kStart + 10ms + kStep);
  EXPECT_TRUE(pace.is_brisk());
  pace.came(kStart + 10ms + kStep + kStep / 2);  // another one before the answer
  EXPECT_TRUE(pace.is_brisk());
}

TEST(BusyPoll, PauseEndsABriskStream) {
  BusyPoll pace;
  pace.answered(kStart);
  pace.came(kStart + kStep);
  pace.answered(kStart + kStep);
  pace.came(kStart + kStep + BusyPoll::kSoon);
  EXPECT_FALSE(pace.is_brisk());
}

}  // namespace
}  // namespace arborfs
