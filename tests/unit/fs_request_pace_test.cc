// Whether the threads that take requests stay awake for the next one.
#include <gtest/gtest.h>

#include "fs/request_pace.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;

constexpr RequestPace::Clock::time_point kStart{1000s};
constexpr auto kStep = RequestPace::kSoon / 2;

TEST(RequestPace, OneRequestIsNoStream) {
  RequestPace pace;
  EXPECT_FALSE(pace.is_brisk());
  pace.came(kStart);
  pace.answered(kStart);
  EXPECT_FALSE(pace.is_brisk());
}

TEST(RequestPace, TheNextOneSoonAfterAnAnswerIs) {
  RequestPace pace;
  pace.came(kStart);
  EXPECT_EQ(pace.answered(kStart + 10ms), kStart + 10ms + RequestPace::kSoon) << "however long the answer took";
  pace.came(kStart + 10ms + kStep);
  EXPECT_TRUE(pace.is_brisk());
  pace.came(kStart + 10ms + kStep + kStep / 2);  // one more before the answer
  EXPECT_TRUE(pace.is_brisk());
}

TEST(RequestPace, APauseEndsIt) {
  RequestPace pace;
  pace.answered(kStart);
  pace.came(kStart + kStep);
  pace.answered(kStart + kStep);
  pace.came(kStart + kStep + RequestPace::kSoon);
  EXPECT_FALSE(pace.is_brisk());
}

}  // namespace
}  // namespace arborfs
