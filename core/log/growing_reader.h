// A LogReader for logs that only grow, with one record per line. The index keeps the reader's state after the lines so
// far, so that an index grows by reading only the new lines. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/log/log_reader.h"
#include "core/log/record_reader.h"

namespace arborfs {

/// A scan of a log that has stopped after a line and can continue from there. Used by one thread.
class LineScan {
 public:
  virtual ~LineScan() = default;
  /// A copy of this scan in the same state. Reading with it does not change this one.
  [[nodiscard]] virtual std::unique_ptr<LineScan> copy() const = 0;
  /// Reads the lines from where the scan stopped to `end`, which is the end of a line or of the log. `sink` has all
  /// entries before. Errors: io, stale, those of the sink; interrupted once `cancelled`, which may be null, is true.
  virtual Result<void> read_to(const LogSource& log, std::uint64_t end, RecordSink& sink,
                               const std::atomic<bool>* cancelled) = 0;
  /// Sets the leaf of the entries so far, if it is not the last one.
  virtual void finish(RecordSink& sink) const = 0;
};

class GrowingReader : public LogReader {
 public:
  [[nodiscard]] Result<std::unique_ptr<LogIndex>> index(const LogSource& log,
                                                        const IndexOptions& options) const override;
  [[nodiscard]] bool only_grow() const override { return true; }

  /// At the start of a log.
  [[nodiscard]] virtual std::unique_ptr<LineScan> start_scan() const = 0;
  /// Where the part of the log starts that may grow: the last file, if there are several.
  [[nodiscard]] virtual std::uint64_t growing_part(const LogSource& /*log*/) const { return 0; }
  /// False if the log must be read again from the start, whatever its new bytes are. Errors: io, stale.
  [[nodiscard]] virtual Result<bool> can_grow(const LogSource& /*log*/) const { return true; }
  /// The header of a log that has grown. `before` was its header when it had `settled` bytes of whole lines. Errors:
  /// io.
  [[nodiscard]] virtual Result<Header> grown_header(const LogSource& log, const Header& /*before*/,
                                                    std::uint64_t /*settled*/) const {
    return read_header(log);
  }
};

}  // namespace arborfs
