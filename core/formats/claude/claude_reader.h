// Reads the transcripts of Claude Code (claude/FORMAT.md B, C). Thread-safe.
#pragma once

#include "core/log/record_reader.h"

namespace arborfs::claude {

class Reader : public GrowingReader {
 public:
  /// As the program lists a session: from the first and the last 64 KiB (claude/FORMAT.md D1).
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  [[nodiscard]] std::unique_ptr<LogScan> start_scan() const override;
};

}  // namespace arborfs::claude
