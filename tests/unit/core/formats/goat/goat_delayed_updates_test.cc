// Updates of goat's metadata follow appends, however these arrive, and nothing waits for a thread that sleeps.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "core/formats/goat/editor.h"
#include "tests/support/goat_stage.h"

namespace arborfs::goat {
namespace {

using namespace std::chrono_literals;

class GoatUpdates : public ::testing::Test {
 protected:
  static constexpr int kSessions = 3;
  GoatUpdates() {
    for (int i = 1; i <= kSessions; ++i) {
      stage_.add("s" + std::to_string(i), "");
    }
    stage_.start();
  }
  [[nodiscard]] SessionPtr session(int number = 1) { return stage_.session("s" + std::to_string(number)); }
  void note(const SessionPtr& updated) {
    const std::lock_guard lock(mutex_);
    ++updates_[updated->number()];
    changed_.notify_all();
  }
  [[nodiscard]] int updates_of(const SessionPtr& updated) {
    const std::lock_guard lock(mutex_);
    return updates_[updated->number()];
  }
  [[nodiscard]] bool wait_for(const SessionPtr& updated, int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return updates_[updated->number()] >= count; });
  }
  testing::GoatStage stage_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, int> updates_;
};

TEST_F(GoatUpdates, EachAdditionIsFollowed) {
  constexpr int kTimes = 500;
  for (const auto quiet : {0ms, 1ms}) {
    const int before = updates_of(session());
    DelayedUpdates updates([this](const SessionPtr& updated) { note(updated); }, quiet);
    for (int i = 1; i <= kTimes; ++i) {
      updates.add(session());
      ASSERT_TRUE(wait_for(session(), before + i)) << i;
    }
  }
}

TEST_F(GoatUpdates, AnAdditionAfterOneThatWasSettledIsFollowed) {
  DelayedUpdates updates([this](const SessionPtr& updated) { note(updated); }, 1ms);
  for (int i = 1; i <= 200; ++i) {
    updates.add(session(1));
    updates.settle();
    EXPECT_EQ(updates_of(session(1)), i);
    updates.add(session(2));
    ASSERT_TRUE(wait_for(session(2), i)) << i;
  }
}

TEST_F(GoatUpdates, ABurstCostsOneUpdate) {
  {
    DelayedUpdates updates([this](const SessionPtr& updated) { note(updated); }, 1h);
    for (int i = 0; i < 100; ++i) {
      updates.add(session(1));
      updates.add(session(2));
    }
    EXPECT_EQ(updates_of(session(1)), 0);
    updates.settle();
    EXPECT_EQ(updates_of(session(1)), 1);
    updates.add(session(3));
  }
  EXPECT_EQ(updates_of(session(2)), 1);
  EXPECT_EQ(updates_of(session(3)), 1);
}

TEST_F(GoatUpdates, SettleEndsAlthoughASessionIsAddedAgain) {
  std::atomic<int> again{5};
  DelayedUpdates* all = nullptr;
  DelayedUpdates updates(
      [&](const SessionPtr& updated) {
        note(updated);
        if (--again >= 0) {
          all->add(updated);
        }
      },
      1h);
  all = &updates;
  updates.add(session());
  updates.settle();
  EXPECT_EQ(updates_of(session()), 1);
  again = 0;
}

/// Nothing that was added is left when the object is gone.
TEST_F(GoatUpdates, NoneIsLostAmongManyThreads) {
  constexpr int kThreads = 6;
  std::atomic<int> added[kSessions + 1] = {};
  std::atomic<int> seen[kSessions + 1] = {};
  std::map<std::uint32_t, int> number_of;
  for (int i = 1; i <= kSessions; ++i) {
    number_of[session(i)->number()] = i;
  }
  for (int round = 0; round < 20; ++round) {
    DelayedUpdates updates(
        [&](const SessionPtr& updated) {
          const int number = number_of.at(updated->number());
          seen[number] = added[number].load();
        },
        std::chrono::milliseconds(round % 3));
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 100; ++i) {
          const int number = 1 + (thread + i) % kSessions;
          ++added[number];
          updates.add(session(number));
          if (i % 40 == thread) {
            updates.settle();
          }
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  for (int i = 1; i <= kSessions; ++i) {
    EXPECT_EQ(seen[i], added[i]) << i;
  }
}

}  // namespace
}  // namespace arborfs::goat
