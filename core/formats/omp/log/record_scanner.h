// Splits a log into the values that the agents read and the bytes that they drop, exactly as leniently as they do
// (omp/FORMAT.md A2 to A10, A16). Constant memory, whatever the log contains. Used by one thread.
//
// When the log grows, values and damage before the resume point do not change; later ones may (omp/FORMAT.md A5, G9).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/scan.h"
#include "core/log/index_state.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/log/record_fields.h"

namespace arborfs::omp {

/// Measures a stretch of the log that the agents drop: finds the part of it that is not white space, and the NUL bytes
/// at the ends of that part (omp/FORMAT.md A3 to A6). Bytes arrive in pieces.
class DamageRun {
 public:
  explicit DamageRun(std::uint64_t offset) : at_(offset) {}

  void feed(std::string_view piece);

  /// True if JavaScript's trim() would leave nothing: the agents do not count such a stretch.
  [[nodiscard]] bool is_blank() const { return blank_ && held_.empty(); }

  /// The stretch without surrounding white space, with the NUL bytes at either end as separate runs.
  [[nodiscard]] std::vector<Damage> runs(Damage::Kind kind) const;

 private:
  /// Reads only the ends of `piece`.
  void note_ends(std::string_view piece);

  std::uint64_t at_;
  // Offsets of the first byte that is not white space and of the end of the last one; then the same for bytes that are
  // neither white space nor NUL.
  std::uint64_t first_ = UINT64_MAX;
  std::uint64_t last_ = 0;
  std::uint64_t first_solid_ = UINT64_MAX;
  std::uint64_t last_solid_ = 0;
  bool blank_ = true;  // so far
  std::string held_;   // the first bytes of a character that may be white space
};

/// A point from which a scan can resume.
struct ScanPoint {
  enum class Phase : std::uint8_t {
    line_start,    // after a line feed or at the start of the text
    before_value,  // after only white space since the line feed or start
    after_value,   // after a value, before the end of its line
    after_number,  // the same, but more digits would change the value
  };
  std::uint64_t offset = 0;
  Phase phase = Phase::line_start;
};

/// True if a log of this size may have a BOM at the start of any line (omp/FORMAT.md A16).
bool has_lenient_boms(const LogSource& log, std::uint64_t size);

class RecordScanner {
 public:
  /// Scans `window` from `start`; for `bom_on_any_line` see has_lenient_boms. `ahead` is the window's log: its lines
  /// are read ahead, in large steps; null if only the head of the log is wanted.
  RecordScanner(LogWindow& window, ScanPoint start, bool bom_on_any_line, const LogSource* ahead);
  ~RecordScanner();
  RecordScanner(const RecordScanner&) = delete;
  RecordScanner& operator=(const RecordScanner&) = delete;

  /// The next record, null at the end of the text; valid until the next call. Errors: io, stale, interrupted.
  Result<const RecordFields*> next();

  /// Where to resume when the log has grown, and how much of the losses is before that point.
  struct Tail {
    ScanPoint resume;
    std::size_t damage = 0;
    std::uint64_t malformed = 0;
    bool has_records = false;  // records were read after that point: growth can change them
  };
  /// Call tail() and losses() only after next() returned null.
  [[nodiscard]] const Tail& tail() const { return *tail_; }
  [[nodiscard]] const ScanLosses& losses() const { return losses_; }

 private:
  class ReadAhead;
  class StreamedRecord;
  enum class Found : std::uint8_t { record, nothing, end };

  Result<Found> step();
  Result<bool> take_line_ahead();
  Result<Found> find_value();
  Result<Found> end_line();
  Result<Found> read_value();
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
  const std::unique_ptr<ReadAhead> ahead_;
  const std::unique_ptr<StreamedRecord> observed_;
  json::ValueScanner scanner_;
  RecordFields record_;
  ScanLosses losses_;
  std::optional<Tail> tail_;
  std::uint64_t rescanned_ = 0;  // bytes read past the ends of dropped lines, which are read again
};

}  // namespace arborfs::omp
