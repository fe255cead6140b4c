// Lets changes that arrive for one session at the same time be made together, in the order in which they arrived: one
// caller makes the changes of all waiting callers, while later ones wait for their turn. Callers that come back after a
// turn share the next one: it begins when as many wait as before, or half as long after the last one as that took, at
// most kLongestWait. One caller alone never waits. Threads: any; the lock is a leaf and not held while changes are
// made.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace arborfs {

/// `Waiting` is one change; it has the members `bool is_done`, which belongs to this class, and `bool is_alone`, true
/// if it is not made together with others.
template <class Waiting>
class SharedTurns {
 public:
  /// The most changes that are made together.
  static constexpr std::size_t kMost = 256;
  static constexpr std::chrono::milliseconds kLongestWait{50};

  /// Returns when `mine` has been made, by `run` of this call or of another one. `run` gets the changes that wait for
  /// the session, oldest first, and must not throw.
  template <class Run>
  void wait(std::uint32_t session, Waiting& mine, const Run& run) {
    std::unique_lock lock(mutex_);
    const auto place = lines_.try_emplace(session).first;
    Line& line = place->second;
    ++line.users;
    line.waiting.push_back(&mine);
    line.arrival.notify_one();
    while (!mine.is_done) {
      line.wake.wait(lock, [&] { return mine.is_done || !line.is_busy; });
      if (!mine.is_done) {
        take_turn(lock, line, run);
      }
    }
    if (--line.users == 0) {
      lines_.erase(place);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Line {
    std::deque<Waiting*> waiting;
    bool is_busy = false;
    int users = 0;
    std::condition_variable wake;
    std::condition_variable arrival;  // for the caller whose turn it is
    std::size_t callers = 0;          // whose changes were made in the last turn or waited at its end
    Clock::duration last_turn{};
  };

  static std::vector<Waiting*> take_batch(std::deque<Waiting*>& waiting) {
    const auto last = waiting.begin() + static_cast<std::ptrdiff_t>(std::min(waiting.size(), kMost));
    auto end = std::find_if(waiting.begin(), last, [](const Waiting* one) { return one->is_alone; });
    end = end == waiting.begin() ? end + 1 : end;
    std::vector<Waiting*> batch(waiting.begin(), end);
    waiting.erase(waiting.begin(), end);
    return batch;
  }

  template <class Run>
  static void take_turn(std::unique_lock<std::mutex>& lock, Line& line, const Run& run) {
    line.is_busy = true;
    line.arrival.wait_for(lock, std::min<Clock::duration>(line.last_turn / 2, kLongestWait),
                          [&] { return line.waiting.size() >= line.callers; });
    const auto batch = take_batch(line.waiting);
    lock.unlock();
    const auto start = Clock::now();
    run(batch);
    lock.lock();
    line.last_turn = Clock::now() - start;
    line.callers = std::min(batch.size() + line.waiting.size(), kMost);
    for (Waiting* one : batch) {
      one->is_done = true;
    }
    line.is_busy = false;
    line.wake.notify_all();
  }

  std::mutex mutex_;
  std::map<std::uint32_t, Line> lines_;  // by the session's number; guarded by mutex_
};

}  // namespace arborfs
