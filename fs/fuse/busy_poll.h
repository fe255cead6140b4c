// Decides whether requests follow each other so closely that polling for the next one pays off. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>

namespace arborfs {

class BusyPoll {
 public:
  using Clock = std::chrono::steady_clock;
  /// A request counts as soon if it arrives within this time of an answer. A program that reads small files in a row
  /// comes back after 5 to 30 µs; polling for longer than kSoon takes processor time from others.
  static constexpr std::chrono::microseconds kSoon{50};

  void came(Clock::time_point when) { is_brisk_ = when - answered_.load() < kSoon; }
  /// Returns until when the next request would count as soon.
  Clock::time_point answered(Clock::time_point when) {
    answered_ = when;
    return when + kSoon;
  }
  /// True if the last request arrived soon.
  [[nodiscard]] bool is_brisk() const { return is_brisk_; }

 private:
  std::atomic<Clock::time_point> answered_{Clock::time_point{} - kSoon};
  std::atomic<bool> is_brisk_{false};
};

}  // namespace arborfs
