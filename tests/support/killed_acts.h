// A process that makes one change and is killed at a random moment of it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "core/base/error.h"
#include "tests/support/sanitized.h"

namespace arborfs::testing {

#ifdef ARBORFS_SANITIZED
inline constexpr int kKillRounds = 5;  // a sanitizer makes each fork slow
#else
inline constexpr int kKillRounds = 200;
#endif

/// Every act is killed so often, or ARBORFS_KILL_ROUNDS times if that is set.
inline int kill_rounds() {
  const char* wanted = std::getenv("ARBORFS_KILL_ROUNDS");
  return wanted == nullptr ? kKillRounds : std::atoi(wanted);
}

/// The moments at which a process is killed: spread over the time that the longest of the first acts took.
class KillMoments {
 public:
  [[nodiscard]] std::chrono::microseconds next() {
    std::uniform_int_distribution<std::int64_t> within(0, longest_.count() * 5 / 4);
    return rounds_++ < kMeasured ? kForever : std::chrono::microseconds(within(random_));
  }
  void note_length(std::chrono::microseconds length) {
    longest_ = rounds_ <= kMeasured ? std::max(longest_, length) : longest_;
  }
  static constexpr std::chrono::microseconds kForever{10'000'000};

 private:
  static constexpr int kMeasured = 3;
  std::mt19937 random_{17};
  int rounds_ = 0;
  std::chrono::microseconds longest_{1};
};

/// Runs the act in a child process, which is killed at the next moment at the latest. True if the child acknowledged
/// the act before.
inline bool is_acknowledged_before_kill(KillMoments& moments, const std::function<Result<void>()>& act) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const auto moment = moments.next();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::write(pipe[1], "b", 1) != 1) {
      ::_exit(1);
    }
    const auto done = act();
    const bool is_told = ::write(pipe[1], done ? "." : "!", 1) == 1;
    ::pause();
    ::_exit(is_told ? 0 : 1);
  }
  ::close(pipe[1]);
  char said = 0;
  EXPECT_EQ(::read(pipe[0], &said, 1), 1);  // the act begins
  const auto begin = std::chrono::steady_clock::now();
  if (moment == KillMoments::kForever) {
    EXPECT_EQ(::read(pipe[0], &said, 1), 1);
    moments.note_length(
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin));
  } else {
    std::this_thread::sleep_for(moment);  // the point where it is killed
  }
  ::kill(child, SIGKILL);
  for (char more = 0; ::read(pipe[0], &more, 1) == 1;) {
    said = more;
  }
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(said, '!') << "the act failed";
  return said == '.';
}

}  // namespace arborfs::testing
