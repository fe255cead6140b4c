// A request over the shared limit waits, but one share may always exceed it.
#include "core/base/memory_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "core/base/cancellation.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;
using Share = MemoryBudget::Share;

TEST(MemoryBudget, SharesFitTogether) {
  MemoryBudget budget(100, 0ms);
  Share a(budget);
  Share b(budget);
  EXPECT_NO_THROW(a.grow(60));
  EXPECT_NO_THROW(b.grow(40));
}

TEST(MemoryBudget, OneShareAtATimeMayExceedTheBudget) {
  MemoryBudget budget(100, 0ms);
  Share a(budget);
  Share b(budget);
  Share c(budget);
  EXPECT_NO_THROW(a.grow(60));
  EXPECT_NO_THROW(a.grow(1000));
  EXPECT_NO_THROW(a.grow(1000));
  EXPECT_NO_THROW(b.grow(100));
  EXPECT_THROW(c.grow(1), MemoryBudget::Exhausted);
  b.shrink_to(99);
  EXPECT_NO_THROW(c.grow(1));
}

TEST(MemoryBudget, ShrunkShareCountsInTheBudgetAgain) {
  MemoryBudget budget(100, 0ms);
  Share a(budget);
  Share b(budget);
  EXPECT_NO_THROW(a.grow(500));
  a.shrink_to(70);
  EXPECT_NO_THROW(b.grow(400));
  EXPECT_THROW(a.grow(40), MemoryBudget::Exhausted);
  EXPECT_NO_THROW(a.grow(30));
}

TEST(MemoryBudget, WaitingShareGrowsAfterTheOtherEnds) {
  MemoryBudget budget(100);
  auto a = std::make_unique<Share>(budget);
  Share b(budget);
  EXPECT_NO_THROW(a->grow(1000));
  EXPECT_NO_THROW(b.grow(100));
  std::thread thread([&] { EXPECT_NO_THROW(b.grow(1000)); });
  a.reset();
  thread.join();
}

TEST(MemoryBudget, CancellationEndsTheWait) {
  MemoryBudget budget(100);
  Share a(budget);
  Share b(budget);
  EXPECT_NO_THROW(a.grow(1000));
  std::stop_source stop;
  std::thread thread([&] {
    const Cancellation cancellation(stop.get_token());
    EXPECT_THROW(b.grow(1000), MemoryBudget::Exhausted);
  });
  stop.request_stop();
  thread.join();
}

}  // namespace
}  // namespace arborfs
