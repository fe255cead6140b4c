// Reads goat's messages (goat/FORMAT.md C). The header comes from the log's metadata. Thread-safe.
#pragma once

#include "core/log/record_reader.h"

namespace arborfs::goat {

class Reader : public RecordReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  Result<void> read(const LogSource& log, RecordSink& sink, const std::atomic<bool>* cancelled) const override;
};

}  // namespace arborfs::goat
