// Reads goat's messages (goat/FORMAT.md C). The header comes from the log's metadata. Thread-safe.
#pragma once

#include "core/log/record_reader.h"

namespace arborfs::goat {

class Reader : public GrowingReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  [[nodiscard]] std::unique_ptr<LogScan> start_scan() const override;
};

}  // namespace arborfs::goat
