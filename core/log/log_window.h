// A stretch of a log in memory, moved along by reading: the scanner's only way to the bytes. One buffer, reused; it
// grows only when somebody asks for a longer contiguous view. Used by one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/log/log_file.h"

namespace arborfs {

class LogWindow {
 public:
  /// Bytes that may be read, though not used, behind every view (simdjson looks that far).
  static constexpr std::size_t kPadding = 64;
  /// How much is read at a time; small logs need no more than their size.
  static constexpr std::size_t kStep = 256 * 1024;

  /// Shows the bytes of `log` below `end`. `cancelled` may be null; it is looked at before each read. Both must
  /// outlive the window.
  LogWindow(const LogFile& log, std::uint64_t end, const std::atomic<bool>* cancelled = nullptr,
            std::size_t step = kStep);

  /// What is in memory from `offset` on, at least `want` bytes unless the end is nearer. Valid until the next call.
  /// Errors: io, interrupted.
  Result<std::string_view> view(std::uint64_t offset, std::size_t want);

  /// Where the log ends for this window: as given, or earlier when it was cut meanwhile.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// As given.
  [[nodiscard]] const std::atomic<bool>* cancelled() const { return cancelled_; }

 private:
  Result<void> fill(std::uint64_t offset, std::size_t want);
  void make_room(std::size_t keep_from, std::size_t kept, std::size_t capacity);

  const LogFile& log_;
  std::uint64_t end_;
  const std::atomic<bool>* cancelled_;
  std::size_t step_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::uint64_t start_ = 0;  // offset in the log of the buffer's first byte
  std::size_t length_ = 0;   // bytes of the log in the buffer
};

}  // namespace arborfs
