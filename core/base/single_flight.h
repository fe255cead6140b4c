// Lets one thread at a time compute an answer that several threads request at once; the others wait for it. Threads:
// any; the lock is a leaf and not held while the answer is made.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

#include "core/base/cancellation.h"
#include "core/base/wanted.h"

namespace arborfs {

class SingleFlight {
 public:
  /// The right to answer the question with this number, which one thread has at a time, for the object's lifetime.
  class Turn {
   public:
    /// Waits for it. Gives up once the thread's work is cancelled or no longer `wanted`.
    Turn(SingleFlight& all, std::uint32_t question, const Wanted::Still& wanted) : all_(all), question_(question) {
      constexpr std::chrono::milliseconds kLook{20};
      while (wanted() && !Cancellation::is_requested()) {
        std::unique_lock lock(all_.mutex_);
        has_ = all_.answered_.insert(question_).second;
        if (has_) {
          return;
        }
        all_.ended_.wait_for(lock, kLook);
      }
    }
    ~Turn() {
      if (has_) {
        const std::lock_guard lock(all_.mutex_);
        all_.answered_.erase(question_);
        all_.ended_.notify_all();
      }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    /// False if it gave up.
    [[nodiscard]] bool has() const { return has_; }

   private:
    SingleFlight& all_;
    const std::uint32_t question_;
    bool has_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<std::uint32_t> answered_;  // questions that a thread answers now; guarded by mutex_
};

}  // namespace arborfs
