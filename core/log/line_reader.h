// Reads a log line by line, for agents whose records are one line each: on one thread, or in stretches, so that several
// threads can read one log (LinePipeline). Memory is bounded: a line that is too long is skipped without being
// stored. A reader, and a buffer, is used by one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/log/record_reader.h"

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

  /// Reads the bytes of `log` before `end`. Each read first checks `stop`. `log` outlives the reader.
  LineReader(const LogSource& log, std::uint64_t end, const std::stop_token& stop) : LineReader(log, 0, end, stop) {}
  /// The same from `begin` on, where a line starts.
  LineReader(const LogSource& log, std::uint64_t begin, std::uint64_t end, const std::stop_token& stop);

  /// The next line that is not blank; null at the end. Valid until the next call. Errors: io, interrupted.
  Result<const Line*> next();

 private:
  Result<bool> find_end(std::uint64_t& end);
  LogWindow window_;
  std::uint64_t at_;
  Line line_;
};

/// The damage that a line is which is no record.
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
/// Their texts stay valid until `buffer` is used again. Errors: io, stale; interrupted once a stop is requested while
/// a line that is too long is skipped.
Result<void> read_stretch_lines(const LogSource& log, std::uint64_t begin, std::uint64_t end, std::uint64_t log_end,
                                StretchBuffer& buffer, const TakeLine& take, const std::stop_token& stop = {},
                                const LongLines& long_lines = {});

// Reads a log line by line, in the order of the file, and turns the lines into rows. A helper thread reads ahead in a
// big log. Memory is bounded, whatever the log contains. Used by one thread.

/// `Rows` holds the data that a format reads from the lines of one stretch. It has the members `clear()` and
/// `take(const LineReader::Line&, Parser&)`, and the type `Parser`, of which each thread has one; it may have a
/// LongLines `kLongLines`. Its rows may point into the texts of the lines.
template <class Rows>
class LinePipeline {
 public:
  /// Reads the bytes of `log` from `begin`, where a line starts, to `end`. Each step first checks `stop`. `log`
  /// outlives this object.
  LinePipeline(const LogSource& log, std::uint64_t begin, std::uint64_t end, const std::stop_token& stop)
      : log_(log),
        begin_(begin),
        end_(std::max(begin, end)),
        stop_(stop),
        count_((end_ - begin + kStretch - 1) / kStretch) {
    if (count_ <= kRing) {
      return;
    }
    try {
      helper_.emplace([this] { help(); });
    } catch (const std::system_error&) {  // no thread available: this one does all the work
    }
  }
  ~LinePipeline() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    helper_.reset();
  }
  LinePipeline(const LinePipeline&) = delete;
  LinePipeline& operator=(const LinePipeline&) = delete;

  /// The rows of the next stretch that does not end before `from`, which must not be below `begin`; null at the end.
  /// Valid until the next call. Errors: io, stale, interrupted.
  Result<const Rows*> next(std::uint64_t from) {
    at_ = std::max(at_, std::min(count_, (from - begin_) / kStretch));
    return next();
  }
  /// Lines that start here or later are not in the last rows.
  [[nodiscard]] std::uint64_t end_of_rows() const { return begin_ + at_ * kStretch; }
  /// The rows of the next stretch.
  Result<const Rows*> next() {
    if (stop_.stop_requested()) {
      return Error{Errc::interrupted, "reading the log was cancelled"};
    }
    if (at_ == count_) {
      return static_cast<const Rows*>(nullptr);
    }
    const std::uint64_t number = at_++;
    std::unique_lock lock(mutex_);
    first_ = number;
    unclaimed_ = std::max(unclaimed_, number);
    changed_.notify_all();
    while (slot(number).number != number) {  // meanwhile reads others that no thread has claimed
      if (may_claim()) {
        fill_next(parser_, lock);
      } else {
        changed_.wait(lock);
      }
    }
    const Slot& filled = slot(number);
    if (filled.thrown) {
      std::rethrow_exception(filled.thrown);
    }
    RETURN_IF_ERROR(filled.outcome);
    return &filled.rows;
  }

 private:
  // Together 1 MB: more is slower, since it is new to the process in each index, 4 KB by 4 KB.
  static constexpr std::uint64_t kStretch = 256 * 1024;
  static constexpr std::uint64_t kRing = 4;
  static constexpr std::uint64_t kNone = UINT64_MAX;
  using Parser = typename Rows::Parser;

  /// Guarded by mutex_, except that the thread that fills a slot, and the caller of next() for the one that it got, use
  /// `buffer` and `rows` without the lock.
  struct Slot {
    std::uint64_t number = kNone;  // the stretch that it holds
    bool is_busy = false;          // a thread is filling it
    StretchBuffer buffer;
    Rows rows;
    Result<void> outcome;
    std::exception_ptr thrown;
  };

  static constexpr LongLines long_lines() {
    if constexpr (requires { Rows::kLongLines; }) {
      return Rows::kLongLines;
    } else {
      return {};
    }
  }
  [[nodiscard]] Slot& slot(std::uint64_t number) { return slots_[number % kRing]; }
  [[nodiscard]] bool may_claim() {
    return unclaimed_ < count_ && unclaimed_ < first_ + kRing && !slot(unclaimed_).is_busy;
  }

  void fill_next(Parser& parser, std::unique_lock<std::mutex>& lock) {
    const std::uint64_t number = unclaimed_++;
    Slot& filled = slot(number);
    filled.is_busy = true;
    lock.unlock();
    filled.thrown = nullptr;
    try {
      filled.rows.clear();
      const std::uint64_t begin = begin_ + number * kStretch;
      filled.outcome = read_stretch_lines(
          log_, begin, std::min(begin + kStretch, end_), end_, filled.buffer,
          [&](const LineReader::Line& line) { filled.rows.take(line, parser); }, stop_, long_lines());
    } catch (...) {
      filled.thrown = std::current_exception();
    }
    lock.lock();
    filled.is_busy = false;
    filled.number = number;
    changed_.notify_all();
  }

  void help() {
    Parser parser;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_stopping_ || unclaimed_ == count_ || may_claim(); });
      if (is_stopping_ || unclaimed_ == count_) {
        return;
      }
      fill_next(parser, lock);
    }
  }

  const LogSource& log_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  const std::stop_token stop_;
  const std::uint64_t count_;  // of stretches
  Parser parser_;              // for next()
  std::uint64_t at_ = 0;       // what next() gives next

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, kRing> slots_;
  std::uint64_t first_ = 0;             // earlier stretches are no longer needed; guarded by mutex_
  std::uint64_t unclaimed_ = 0;         // the first stretch that no thread has claimed; guarded by mutex_
  bool is_stopping_ = false;            // guarded by mutex_
  std::optional<HelperThread> helper_;  // last, so that it ends before the members that it uses are destroyed
};

/// `Rows` of lines that each are a record, damage, or left out. A format adds take().
template <class Row, class RowParser>
struct StretchRows {
  using Parser = RowParser;
  std::vector<Row> rows;
  std::vector<Damage> damage;
  std::vector<std::string_view> left_out;  // the types, as RecordSink::leave_out
  std::deque<std::string> texts;           // of the rows

  void clear() {
    rows.clear();
    damage.clear();
    left_out.clear();
    texts.clear();
  }
};

/// A scan of such a log by `Self`, which is copied with all that it has read so far. `Stretch` is a StretchRows.
template <class Self, class Stretch>
class StretchScan : public LineScan {
 public:
  [[nodiscard]] std::unique_ptr<LogScan> copy() const final {
    return std::make_unique<Self>(static_cast<const Self&>(*this));
  }

 protected:
  Result<void> read_to(const LogSource& log, std::uint64_t end, RecordSink& sink, const std::stop_token& stop) final {
    LinePipeline<Stretch> stretches(log, at_, end, stop);
    at_ = end;
    for (;;) {
      ASSIGN_OR_RETURN(const Stretch* stretch, stretches.next());
      if (stretch == nullptr) {
        return {};
      }
      for (const Damage& run : stretch->damage) {
        sink.add(run);
      }
      for (const std::string_view type : stretch->left_out) {
        sink.leave_out(type);
      }
      for (const auto& row : stretch->rows) {
        RETURN_IF_ERROR(static_cast<Self*>(this)->take(row, sink));
      }
    }
  }

 private:
  std::uint64_t at_ = 0;
};

}  // namespace arborfs
