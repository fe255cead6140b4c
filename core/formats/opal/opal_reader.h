// Reads Opal's session files (opal/FORMAT.md B, C). Thread-safe.
#pragma once

#include "core/log/record_reader.h"

namespace arborfs::opal {

class Reader : public RecordReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  /// Each change writes a whole log, and many readers look at it while it is young.
  [[nodiscard]] std::uint64_t most_compared() const override { return std::uint64_t{16} << 20U; }
  Result<void> read(const LogSource& log, RecordSink& sink, const std::atomic<bool>* cancelled) const override;
};

}  // namespace arborfs::opal
