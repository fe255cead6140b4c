// Prompts that wait for a locked history (CONTRACT.md 4.10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "core/write/writer.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kDeadline{30};

/// A history that another program locks and unlocks.
class LockedHistory : public PromptHistory {
 public:
  [[nodiscard]] Result<State> state() const override { return State{}; }
  Result<void> read(const Span& /*span*/, const Reading& /*reading*/) const override { return {}; }
  Result<std::vector<Effect>> add(const Prompt& prompt, const Adding& how) override {
    const std::lock_guard lock(mutex_);
    ++tries_;
    longest_patience_ = std::max(longest_patience_, how.patience);
    changed_.notify_all();
    if (is_locked_) {
      return Error{Errc::busy, "locked"};
    }
    if (prompt.text == "refused") {
      return Error{Errc::unsupported, "no such history"};
    }
    stored_.push_back(prompt.text);
    return std::vector<Effect>();
  }
  [[nodiscard]] const std::string& path() const override { return path_; }

  void lock(bool locked) {
    const std::lock_guard guard(mutex_);
    is_locked_ = locked;
  }
  bool wait_for(std::size_t stored, std::size_t tries = 0) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [&] { return stored_.size() >= stored && tries_ >= tries; });
  }
  std::vector<std::string> stored() {
    const std::lock_guard lock(mutex_);
    return stored_;
  }
  std::chrono::milliseconds longest_patience() {
    const std::lock_guard lock(mutex_);
    return longest_patience_;
  }

 private:
  const std::string path_ = "/agent/history.db";
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_locked_ = false;
  std::size_t tries_ = 0;
  std::chrono::milliseconds longest_patience_{0};
  std::vector<std::string> stored_;
};

class PromptQueueTest : public ::testing::Test {
 protected:
  static PromptQueue::Limits quick() {
    PromptQueue::Limits limits;
    limits.at_once = 1ms;
    limits.each_try = 1ms;
    return limits;
  }
  PromptQueue::Report report() {
    return [this](const Error& error) {
      const std::lock_guard lock(mutex_);
      reported_.push_back(error.message);
      changed_.notify_all();
    };
  }
  std::vector<std::string> reported(std::size_t count = 0) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kDeadline, [&] { return reported_.size() >= count; });
    return reported_;
  }
  LockedHistory history;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> reported_;
};

TEST_F(PromptQueueTest, StoresAtOnceWhatItCan) {
  PromptQueue queue(report(), quick());
  queue.add(history, {1, "one", "", ""}, true);
  EXPECT_THAT(history.stored(), ElementsAre("one"));
  queue.add(history, {1, "refused", "", ""}, true);
  EXPECT_THAT(reported(), ElementsAre("no such history"));
}

TEST_F(PromptQueueTest, WaitsForALockInOrderAndNotInTheCaller) {
  history.lock(true);
  PromptQueue queue(report(), quick());
  for (const char* text : {"one", "two", "three"}) {
    queue.add(history, {1, text, "", ""}, true);
  }
  EXPECT_TRUE(history.wait_for(0, 5)) << "it tries again";
  EXPECT_THAT(history.stored(), IsEmpty());
  history.lock(false);
  EXPECT_TRUE(history.wait_for(3));
  queue.add(history, {1, "four", "", ""}, true);
  EXPECT_TRUE(history.wait_for(4));
  EXPECT_THAT(history.stored(), ElementsAre("one", "two", "three", "four"));
  EXPECT_THAT(reported(), IsEmpty());
  EXPECT_LE(history.longest_patience(), 1ms);
  EXPECT_LE(PromptQueue::Limits().at_once, 50ms);
}

TEST_F(PromptQueueTest, DropsWhatWaitsTooLong) {
  history.lock(true);
  auto limits = quick();
  limits.longest = 5ms;
  PromptQueue queue(report(), limits);
  queue.add(history, {1, "one", "", ""}, true);
  EXPECT_THAT(reported(1), ElementsAre("locked"));
  history.lock(false);
  queue.add(history, {1, "two", "", ""}, true);
  EXPECT_TRUE(history.wait_for(1));
  EXPECT_THAT(history.stored(), ElementsAre("two"));
}

TEST_F(PromptQueueTest, HoldsABoundedNumberAndSize) {
  history.lock(true);
  auto limits = quick();
  limits.most = 2;
  limits.most_bytes = 10;
  PromptQueue queue(report(), limits);
  queue.add(history, {1, "12345678901", "", ""}, true);
  EXPECT_THAT(reported(), ElementsAre(HasSubstr("too many prompts wait")));
  for (const char* text : {"one", "two", "three"}) {
    queue.add(history, {1, text, "", ""}, true);
  }
  EXPECT_EQ(reported().size(), 2U);
  history.lock(false);
  EXPECT_TRUE(history.wait_for(2));
  EXPECT_THAT(history.stored(), ElementsAre("one", "two"));
}

TEST_F(PromptQueueTest, TriesOnceMoreAtTheEnd) {
  history.lock(true);
  auto limits = quick();
  limits.each_try = kDeadline;
  {
    PromptQueue queue(report(), limits);
    queue.add(history, {1, "one", "", ""}, true);
    queue.add(history, {1, "two", "", ""}, true);
    EXPECT_TRUE(history.wait_for(0, 2)) << "the thread has tried";
    history.lock(false);
  }
  EXPECT_THAT(history.stored(), ElementsAre("one", "two"));
  history.lock(true);
  {
    PromptQueue queue(report(), quick());
    queue.add(history, {1, "three", "", ""}, true);
    queue.add(history, {1, "four", "", ""}, true);
  }
  EXPECT_THAT(reported(),
              ElementsAre(HasSubstr("/agent/history.db is locked; prompts that waited for it and are not in it: 2")));
}

}  // namespace
}  // namespace arborfs
