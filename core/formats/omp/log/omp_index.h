// The index of a log of omp or pi, which grows with the log. Not thread-safe, as LogIndex.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/formats/omp/log/dialect.h"
#include "core/log/log_index.h"
#include "core/log/scan_observer.h"

namespace arborfs {

struct OmpIndexState;

class OmpIndex final : public LogIndex {
 public:
  struct Options {
    std::optional<Dialect> dialect;                // forced, for conformance tests; else chosen per log
    const std::atomic<bool>* cancelled = nullptr;  // as IndexOptions
    ScanObserver* noter = nullptr;                 // null, or receives every entry
  };
  /// Scans the log from its first byte to its current end. Errors: io, interrupted, too_large, those of the noter.
  static Result<std::unique_ptr<LogIndex>> build(const LogSource& log, const Options& options);
  static Result<std::unique_ptr<LogIndex>> build(const LogSource& log) { return build(log, Options{}); }

  /// Null if the last known bytes changed, the dialect changed, or a new id is a duplicate or the missing parent of an
  /// earlier entry.
  [[nodiscard]] Result<GrowthPtr> read_growth(const LogSource& log) const override;
  [[nodiscard]] std::vector<Entry> new_entries(const Growth& growth) const override;
  void apply(GrowthPtr growth) override;
  [[nodiscard]] bool only_grows() const override { return true; }

 private:
  explicit OmpIndex(std::unique_ptr<OmpIndexState> state);
  [[nodiscard]] const OmpIndexState& own() const;
};

}  // namespace arborfs
