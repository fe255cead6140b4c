// Reads a log line by line, for agents whose records are one line each: on one thread, or in stretches, so that several
// threads can read one log (line_pipeline.h). Memory is bounded: a line that is too long is skipped without being
// stored. A reader, and a buffer, is used by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/log/log_index.h"
#include "core/log/log_source.h"
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

/// Of a line that is no record.
inline Damage damage_of(const LineReader::Line& line) {
  const Damage::Kind kind = line.is_too_long ? Damage::Kind::too_tangled
                            : line.is_ended  ? Damage::Kind::malformed
                                             : Damage::Kind::unfinished;
  return {line.offset, line.length, kind, !line.is_ended};
}

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
