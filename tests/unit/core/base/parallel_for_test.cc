// Work on two threads: every piece is done once, and an exception of a piece reaches the caller from either thread.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "core/base/threads.h"

namespace arborfs {
namespace {

TEST(ParallelFor, RunsEachPieceOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> done(count);
    parallel_for(count, [&](std::size_t i) { ++done[i]; });
    for (const auto& times : done) {
      EXPECT_EQ(times, 1);
    }
  }
}

/// Throws in the other thread if `elsewhere` is set, else in this one, as soon as both are at work.
void throw_in(bool elsewhere) {
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> begun{0};
  parallel_for(2, [&](std::size_t) {
    ++begun;
    while (begun != 2) {
      std::this_thread::yield();
    }
    if ((std::this_thread::get_id() != here) == elsewhere) {
      throw std::bad_alloc();
    }
  });
}

TEST(ParallelFor, RethrowsFromEitherThread) {
  EXPECT_THROW(throw_in(false), std::bad_alloc);
  EXPECT_THROW(throw_in(true), std::bad_alloc);
}

TEST(ParallelFor, StartsNoPieceAfterAThrow) {
  std::atomic<std::size_t> begun{0};
  const auto work = [&](std::size_t) {
    ++begun;
    throw std::bad_alloc();
  };
  EXPECT_THROW(parallel_for(1'000'000, work), std::bad_alloc);
  EXPECT_LE(begun, 2U);
}

}  // namespace
}  // namespace arborfs
