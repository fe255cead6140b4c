// Adds prompts to a history (core/store/prompt_history.h) without waiting for programs that have it locked: a prompt
// that cannot be stored at once waits here, and a thread stores it as soon as that is possible. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/store/prompt_history.h"

namespace arborfs {

class PromptQueue {
 public:
  struct Limits {
    std::chrono::milliseconds at_once{30};      // how long add() waits for a lock
    std::chrono::milliseconds each_try{100};    // how long the thread waits for a lock, and between two tries
    std::chrono::milliseconds longest{60'000};  // then a waiting prompt is dropped
    std::size_t most = 1000;                    // waiting prompts
    std::size_t most_bytes = 4 << 20;           // of their texts
  };
  /// Called for each prompt that is not stored, on any thread, without locks held.
  using Report = std::function<void(const Error&)>;

  explicit PromptQueue(Report report) : PromptQueue(std::move(report), Limits{}) {}
  PromptQueue(Report report, const Limits& limits) : report_(std::move(report)), limits_(limits) {}
  /// Tries once more to store what waits, and drops what is still locked out.
  ~PromptQueue();
  PromptQueue(const PromptQueue&) = delete;
  PromptQueue& operator=(const PromptQueue&) = delete;

  /// Stores the prompt, after those that wait already. `history` must outlive this object. On return the prompt is
  /// stored, or waits, or was reported.
  void add(PromptHistory& history, Prompt prompt, bool sync);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    PromptHistory* history;
    Prompt prompt;
    bool sync;
    Clock::time_point since;
  };
  bool has_waiting();
  void put_off(Waiting waiting);
  void run();
  bool store_next(std::unique_lock<std::mutex>& lock);
  void drop_rest(std::unique_lock<std::mutex>& lock);
  const Report report_;
  const Limits limits_;
  std::mutex mutex_;  // not held while a history is written
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  // guarded by mutex_
  std::size_t bytes_ = 0;        // of their texts; guarded by mutex_
  bool is_ending_ = false;       // guarded by mutex_
  std::thread thread_;           // started with the first that waits; guarded by mutex_
};

}  // namespace arborfs
