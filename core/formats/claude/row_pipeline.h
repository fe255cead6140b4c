// Reads all rows of a transcript in the order of the file. A helper thread reads ahead in a big one. Memory is bounded,
// whatever the log is. Used by one thread.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

#include "core/base/helper_thread.h"
#include "core/formats/claude/row_reader.h"

namespace arborfs::claude {

class RowPipeline {
 public:
  /// Reads the bytes of `log` from `begin`, where a line starts, to `end`. `cancelled` may be null. Both must outlive
  /// this object.
  RowPipeline(const LogSource& log, std::uint64_t begin, std::uint64_t end, const std::atomic<bool>* cancelled);
  ~RowPipeline();
  RowPipeline(const RowPipeline&) = delete;
  RowPipeline& operator=(const RowPipeline&) = delete;

  /// The rows of the next stretch; null at the end. Valid until the next call. Errors: io, stale, interrupted.
  Result<const Stretch*> next();

 private:
  static constexpr std::uint64_t kStretch = 512 * 1024;
  static constexpr std::uint64_t kRing = 6;
  static constexpr std::uint64_t kNone = UINT64_MAX;

  /// Guarded by mutex_, except that the thread that fills a slot, and the caller of next() for the one that it got, use
  /// `stretch` without the lock.
  struct Slot {
    std::uint64_t number = kNone;  // the stretch that it holds
    bool is_busy = false;          // a thread is filling it
    Stretch stretch;
    Result<void> outcome;
    std::exception_ptr thrown;
  };

  [[nodiscard]] Slot& slot(std::uint64_t number) { return slots_[number % kRing]; }
  [[nodiscard]] bool may_claim();
  void fill_next(RowParser& parser, std::unique_lock<std::mutex>& lock);
  void help();

  const LogSource& log_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  const std::atomic<bool>* const cancelled_;
  const std::uint64_t count_;  // of stretches
  RowParser parser_;           // for next()
  std::uint64_t at_ = 0;       // what next() gives next

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, kRing> slots_;
  std::uint64_t first_ = 0;             // earlier stretches are no longer needed; guarded by mutex_
  std::uint64_t unclaimed_ = 0;         // the first stretch that no thread has claimed; guarded by mutex_
  bool is_stopping_ = false;            // guarded by mutex_
  std::optional<HelperThread> helper_;  // last, so that it ends before the members that it uses are destroyed
};

}  // namespace arborfs::claude
