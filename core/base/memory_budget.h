// A limit on the memory that concurrent commands use. Each command reserves bytes before it uses them, and waits while
// they do not fit.
//
// Commands share a fixed number of bytes. One command at a time may exceed it: if its request does not fit, it gives
// back its shared bytes and none of its bytes count against the limit. So one command can always make progress.
// Thread-safe; mutex_ is a leaf.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace arborfs {

class MemoryBudget {
 public:
  static constexpr std::chrono::milliseconds kPatience{30'000};
  /// The most callers that wait at a time; each blocks a thread.
  static constexpr std::size_t kMostWaiting = 16;

  /// A bad_alloc, so that it is handled like any other lack of memory.
  class Exhausted : public std::bad_alloc {
   public:
    [[nodiscard]] const char* what() const noexcept override {
      return "too many writes are in progress; try again when they are done";
    }
  };

  explicit MemoryBudget(std::uint64_t shared, std::chrono::milliseconds patience = kPatience)
      : shared_(shared), patience_(patience) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// The bytes that one user has reserved. Used by one thread at a time.
  class Share {
   public:
    /// Reserves nothing yet. `budget` must outlive the share.
    explicit Share(MemoryBudget& budget) : budget_(budget) {}
    ~Share() { shrink_to(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Reserves `bytes` more, waiting for room. Throws Exhausted if there is still no room after the budget's patience,
    /// too many callers already wait, or this thread's work is cancelled.
    void grow(std::uint64_t bytes) { budget_.grow(*this, bytes); }
    /// Gives back all but `bytes`; does nothing if the share is not larger.
    void shrink_to(std::uint64_t bytes) { budget_.shrink(*this, bytes); }

   private:
    friend class MemoryBudget;
    MemoryBudget& budget_;
    std::uint64_t bytes_ = 0;  // guarded by budget_.mutex_
  };

 private:
  void grow(Share& share, std::uint64_t bytes);
  void shrink(Share& share, std::uint64_t bytes);
  void wait(std::unique_lock<std::mutex>& lock, const Share& share, std::uint64_t bytes);
  [[nodiscard]] bool has_room(const Share& share, std::uint64_t bytes) const;

  const std::uint64_t shared_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::uint64_t used_ = 0;         // of the shared bytes; guarded by mutex_, like all members below
  const Share* beyond_ = nullptr;  // the share that exceeds the limit: its bytes are not in used_
  std::size_t waiting_ = 0;
};

}  // namespace arborfs
