// Changes that wait for a session at the same time are made together (core/writer/shared_turns.h).
#include "core/writer/shared_turns.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace arborfs {
namespace {

constexpr std::uint32_t kSession = 1;

struct Change {
  bool is_done = false;
  bool is_alone = false;
};
using Batch = std::vector<Change*>;

TEST(SharedTurns, ACallerAloneDoesNotWaitForOthers) {
  SharedTurns<Change> turns;
  for (int i = 0; i < 3; ++i) {
    Change mine;
    std::size_t made = 0;
    turns.wait(kSession, mine, [&](const Batch& batch) { made = batch.size(); });
    EXPECT_EQ(made, 1U);
    EXPECT_TRUE(mine.is_done);
  }
}

/// Two callers: while the first change is made, the second one comes. When it gets its turn, the first caller is on its
/// way back.
class TwoCallers {
 public:
  void run() {
    std::thread other;
    Change first;
    turns_.wait(kSession, first, [&](const Batch& batch) {
      note(batch);
      other = std::thread([&] { make(); });
      wait_for_other();
    });
    make();
    other.join();
  }
  [[nodiscard]] const std::vector<std::size_t>& batches() const { return batches_; }

 private:
  void make() {
    Change mine;
    {
      const std::lock_guard lock(mutex_);
      ++come_;
      more_.notify_all();
    }
    turns_.wait(kSession, mine, [&](const Batch& batch) { note(batch); });
  }
  void note(const Batch& batch) {
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch.size());
  }
  /// Makes the turn so long that half of it is enough for the first caller to come back.
  void wait_for_other() {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return come_ == 1; });
    more_.wait_for(lock, std::chrono::seconds(1), [] { return false; });
  }

  SharedTurns<Change> turns_;
  std::mutex mutex_;
  std::condition_variable more_;
  int come_ = 0;
  std::vector<std::size_t> batches_;
};

TEST(SharedTurns, CallersThatComeBackShareTheNextTurn) {
  TwoCallers callers;
  callers.run();
  EXPECT_EQ(callers.batches(), (std::vector<std::size_t>{1, 2}));
}

}  // namespace
}  // namespace arborfs
