// Splits a log into the values that the agents read and the bytes that they drop, exactly as leniently as they do
// (omp/FORMAT.md A2 to A10, A16). Constant memory whatever the log holds. Used by one thread.
//
// Values and damage found up to the resume point stay as they are however the log grows; what comes behind it does
// not (omp/FORMAT.md A5, G9).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/json/scan.h"
#include "core/log/damage_run.h"
#include "core/log/log_window.h"
#include "core/log/parallel_line_reader.h"
#include "core/log/record_fields.h"
#include "core/log/record_parser_simd.h"
#include "core/log/record_parser_stream.h"
#include "core/log/scan_observer.h"

namespace arborfs {

/// Where a scan can go on.
struct ScanPoint {
  enum class Phase : std::uint8_t {
    line_start,    // behind a line feed or at the start of the text
    before_value,  // only white space since
    after_value,   // behind a value, its line not ended
    after_number,  // the same, where more digits would change the value
  };
  std::uint64_t offset = 0;
  Phase phase = Phase::line_start;
};

/// Whether a log of this size may have a BOM at the start of any line (omp/FORMAT.md A16).
bool has_lenient_boms(const LogFile& log, std::uint64_t size);

/// What a scan found besides records.
struct ScanLosses {
  std::vector<Damage> damage;   // in file order
  std::uint64_t malformed = 0;  // as 18 counts
};

class RecordScanner {
 public:
  /// Scans `window` from `start`; see has_lenient_boms. `ahead` and `noter` may be null; the former is for the same
  /// bytes and the same noter.
  RecordScanner(LogWindow& window, ScanPoint start, bool bom_on_any_line, ParallelLineReader* ahead = nullptr,
                const ScanObserver* noter = nullptr);

  /// The next record, null at the end of the text; lives until the next call. Errors: io, interrupted.
  Result<const RecordFields*> next();
  /// What the noter read of that record, if anything; lives as long.
  [[nodiscard]] const ScanNotes* notes() const { return notes_; }

  [[nodiscard]] const ScanLosses& losses() const { return losses_; }

  /// The rest is for when next() gave nothing.
  /// Where to go on when the log grew, and how much of the losses lies before that point.
  struct Tail {
    ScanPoint resume;
    std::size_t damage = 0;
    std::uint64_t malformed = 0;
    bool has_records = false;  // records behind it: growth can change what was read already
  };
  [[nodiscard]] const Tail& tail() const { return *tail_; }
  ScanLosses take_losses() { return std::move(losses_); }

 private:
  enum class Found : std::uint8_t { record, nothing, end };

  Result<Found> step();
  bool take_line_ahead();
  Result<Found> find_value();
  Result<Found> end_line();
  Result<Found> read_value();
  Result<bool> read_fast();
  Result<Found> read_slowly();
  Result<Found> accept();
  Result<Found> reject(json::ValueScanner::Verdict verdict, std::uint64_t fed, bool at_end);
  Result<Found> drop_line(std::uint64_t from, Damage::Kind kind);
  Result<Found> drop_rest(Damage::Kind kind);
  Result<bool> measure(DamageRun& run, bool whole_line);
  void lose(const DamageRun& run, Damage::Kind kind, bool to_end);
  void mark_tail(std::uint64_t offset, ScanPoint::Phase phase);

  LogWindow& window_;
  ScanPoint at_;
  bool bom_on_any_line_;
  ParallelLineReader* ahead_;
  SimdRecordParser fast_;
  StreamedRecord observed_;
  json::ValueScanner scanner_;
  RecordFields record_;
  std::unique_ptr<ScanNotes> own_notes_;  // of a record that was not read ahead
  const ScanNotes* notes_ = nullptr;
  ScanLosses losses_;
  std::optional<Tail> tail_;
  std::uint64_t rescanned_ = 0;  // bytes behind the dropped line that were read in vain
};

}  // namespace arborfs
