// Reads Codex's threads (codex/FORMAT.md B to D). A log that is no SegmentsLog is read as one segment. Thread-safe.
#pragma once

#include "core/log/record_reader.h"

namespace arborfs::codex {

class Reader : public RecordReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  Result<void> read(const LogSource& log, RecordSink& sink, const std::atomic<bool>* cancelled) const override;
};

}  // namespace arborfs::codex
