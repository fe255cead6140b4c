// Logs with an mtime in the future, because a clock is wrong or the time was set.
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "core/log/log_reader.h"

namespace arborfs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(LogAge, LogFromTheFutureIsNotYoung) {
  const std::int64_t now = now_ns();
  EXPECT_TRUE(is_younger(now, now, kTailAgeNanos));
  EXPECT_TRUE(is_younger(now - kTailAgeNanos + 1, now, kTailAgeNanos));
  EXPECT_FALSE(is_younger(now - kTailAgeNanos, now, kTailAgeNanos));
  EXPECT_TRUE(is_younger(now + kSecond, now, kTailAgeNanos)) << "a clock of another machine may be ahead a little";
  EXPECT_FALSE(is_younger(now + 3600 * kSecond, now, kTailAgeNanos));
  EXPECT_FALSE(is_younger(now + 3600 * kSecond, now, kRacyNanos));
  EXPECT_FALSE(is_younger(INT64_MAX, now, kRacyNanos));
  EXPECT_FALSE(is_younger(INT64_MIN, now, kRacyNanos));
}

}  // namespace
}  // namespace arborfs
