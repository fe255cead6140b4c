// Reads Codex's threads (codex/FORMAT.md B to D). A log that is not a SegmentsLog is read as one segment. Thread-safe.
#pragma once

#include "core/log/record_reader.h"

namespace arborfs::codex {

class Reader : public GrowingReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  [[nodiscard]] std::unique_ptr<LogScan> start_scan() const override;
  [[nodiscard]] Result<Header> grown_header(const LogSource& log, const Header& before,
                                            std::uint64_t settled) const override;
  /// The models of the turn_context records (codex/FORMAT.md F3).
  [[nodiscard]] Result<std::vector<ModelChange>> model_changes(const LogSource& log,
                                                               const std::atomic<bool>* cancelled) const override;
};

}  // namespace arborfs::codex
