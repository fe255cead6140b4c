// Reads a log line by line, for agents whose records are one line each. Memory is bounded: a line that is too long is
// skipped without being stored. Used by one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/log/log_window.h"

namespace arborfs {

class LineReader {
 public:
  /// Longer lines are reported as too long.
  static constexpr std::uint64_t kLongestLine = std::uint64_t{64} << 20U;

  struct Line {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // of the line without the white space around it and its line feed
    std::string_view text;     // these bytes, valid until the next call; empty if it is too long
    bool is_too_long = false;
    bool is_ended = true;    // false for the end of a log that has no final line feed
    std::uint64_t next = 0;  // where the line after it starts
  };

  /// Reads the bytes of `log` before `end`. `cancelled` may be null. Both must outlive the reader.
  LineReader(const LogSource& log, std::uint64_t end, const std::atomic<bool>* cancelled)
      : LineReader(log, 0, end, cancelled) {}
  /// The same from `begin` on, where a line starts.
  LineReader(const LogSource& log, std::uint64_t begin, std::uint64_t end, const std::atomic<bool>* cancelled);

  /// The next line that is not blank; null at the end. Valid until the next call. Errors: io, interrupted.
  Result<const Line*> next();

 private:
  Result<bool> find_end(std::uint64_t& end);
  LogWindow window_;
  std::uint64_t at_;
  Line line_;
};

}  // namespace arborfs
