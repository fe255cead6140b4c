// Reads the lines that start in one stretch of a log, so that several threads can read one log. Any thread; a buffer is
// used by one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/log/line_reader.h"
#include "core/log/log_source.h"

namespace arborfs {

/// Holds the bytes of all lines of a stretch.
struct StretchBuffer {
  /// Bytes that are readable after every line; their values do not matter.
  static constexpr std::size_t kPadding = 64;
  std::unique_ptr<char[]> bytes;
  std::size_t capacity = 0;
};

/// What becomes of long lines.
struct LongLines {
  std::uint64_t from = LineReader::kLongestLine;  // longer ones are too long to be held
  bool are_taken = true;                          // false: they are passed over, and their ends are not looked for
};

using TakeLine = std::function<void(const LineReader::Line& line)>;

/// Reads the lines that start in [begin, end) of a log that ends at `log_end`, and passes on those that are not blank.
/// Their texts stay valid until `buffer` is used again. Errors: io, stale; interrupted once `cancelled`, which may be
/// null, is true while a line that is too long is skipped.
Result<void> read_stretch_lines(const LogSource& log, std::uint64_t begin, std::uint64_t end, std::uint64_t log_end,
                                StretchBuffer& buffer, const TakeLine& take,
                                const std::atomic<bool>* cancelled = nullptr, const LongLines& long_lines = {});

}  // namespace arborfs
