// A sliding window over a log, through which the scanner reads all bytes. It reuses one buffer, which grows only when a
// caller asks for a longer contiguous view. Used by one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/log/log_source.h"

namespace arborfs {

class LogWindow {
 public:
  /// Bytes that are readable, but meaningless, after every view (simdjson reads that far).
  static constexpr std::size_t kPadding = 64;
  /// How much is read at a time; for a small log, the buffer is no larger than the log.
  static constexpr std::size_t kStep = 256 * 1024;

  /// A window over the bytes of `log` before `end`. `cancelled` may be null; it is checked before each read. Both must
  /// outlive the window.
  LogWindow(const LogSource& log, std::uint64_t end, const std::atomic<bool>* cancelled = nullptr,
            std::size_t step = kStep);

  /// The bytes in memory from `offset` on, at least `want` unless the log ends before. Valid until the next call.
  /// Errors: io, interrupted.
  Result<std::string_view> view(std::uint64_t offset, std::size_t want);

  /// Where the log ends for this window: as passed in, or earlier if the log was truncated since.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] const std::atomic<bool>* cancelled() const { return cancelled_; }

 private:
  Result<void> fill(std::uint64_t offset, std::size_t want);
  void make_room(std::size_t keep_from, std::size_t kept, std::size_t capacity);

  const LogSource& log_;
  std::uint64_t end_;
  const std::atomic<bool>* cancelled_;
  std::size_t step_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::uint64_t start_ = 0;  // the buffer's first byte, as an offset in the log
  std::size_t length_ = 0;   // bytes of the log in the buffer
};

}  // namespace arborfs
