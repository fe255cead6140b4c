// Memory that many may want at the same time, counted before it is used: what is too much for all at once waits.
//
// Commands share a number of bytes. A command that needs more than is left gets it beyond them, one command at a time,
// and gives back its shared bytes; so one of them can always go on. Thread-safe; mutex_ is a leaf.
#pragma once

#include <atomic>
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
  /// So many wait at a time, since each needs a thread.
  static constexpr std::size_t kMostWaiting = 16;

  /// As any other want of memory.
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

  /// What one user has of it. Used by one thread at a time.
  class Share {
   public:
    /// Nothing yet. The budget outlives it.
    explicit Share(MemoryBudget& budget) : budget_(budget) {}
    ~Share() { shrink_to(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// So many bytes more, once there is room. Throws Exhausted when the wait was too long, or too many wait already,
    /// or `cancelled`, which may be null, became true.
    void grow(std::uint64_t bytes, const std::atomic<bool>* cancelled = nullptr) {
      budget_.grow(*this, bytes, cancelled);
    }
    /// Gives back all but so many bytes.
    void shrink_to(std::uint64_t bytes) { budget_.shrink(*this, bytes); }

   private:
    friend class MemoryBudget;
    MemoryBudget& budget_;
    std::uint64_t bytes_ = 0;  // guarded by budget_.mutex_
  };

 private:
  void grow(Share& share, std::uint64_t bytes, const std::atomic<bool>* cancelled);
  void shrink(Share& share, std::uint64_t bytes);
  void wait(std::unique_lock<std::mutex>& lock, const Share& share, std::uint64_t bytes,
            const std::atomic<bool>* cancelled);
  [[nodiscard]] bool has_room(const Share& share, std::uint64_t bytes) const;

  const std::uint64_t shared_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::uint64_t used_ = 0;         // of the shared bytes; guarded by mutex_, as all below
  const Share* beyond_ = nullptr;  // whose bytes are not among the shared ones
  std::size_t waiting_ = 0;
};

}  // namespace arborfs
