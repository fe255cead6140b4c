#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "core/base/hanging_work.h"

namespace arborfs {
namespace {

bool goes_on() {
  return true;
}

TEST(LeftBehindTest, GivesTheValueOfTheWork) {
  LeftBehind threads;
  EXPECT_EQ(threads.run<int>([] { return 7; }, goes_on), 7);
}

TEST(LeftBehindTest, RethrowsWhatTheWorkThrows) {
  LeftBehind threads;
  EXPECT_THROW(threads.run<int>([]() -> int { throw std::runtime_error("no"); }, goes_on), std::runtime_error);
}

TEST(LeftBehindTest, WorkThatIsGivenUpIsCancelledAndEndsLater) {
  std::promise<void> answer;
  std::promise<bool> seen;
  auto result = seen.get_future();
  {
    LeftBehind threads;
    const auto hanging = [&, end = answer.get_future().share()] {
      end.wait();
      seen.set_value(Cancellation::is_requested() && !Wanted::here()());
      return 7;
    };
    EXPECT_EQ(threads.run<int>(hanging, [] { return false; }), std::nullopt);
    EXPECT_EQ(threads.run<int>([] { return 8; }, goes_on), 8) << "beside the one that hangs";
    answer.set_value();
  }
  EXPECT_TRUE(result.get());
}

TEST(LeftBehindTest, AnErrorOfTheCallerLeavesTheWorkBehind) {
  std::promise<void> answer;
  LeftBehind threads;
  const auto hanging = [end = answer.get_future().share()] {
    end.wait();
    return 7;
  };
  EXPECT_THROW(threads.run<int>(hanging, []() -> bool { throw std::runtime_error("no"); }), std::runtime_error);
  answer.set_value();
  threads.wait();
}

}  // namespace
}  // namespace arborfs
