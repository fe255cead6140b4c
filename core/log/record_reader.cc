#include "core/log/record_reader.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/log/index_sink.h"

namespace arborfs {

Result<std::unique_ptr<LogIndex>> RecordReader::index(const LogSource& log, const IndexOptions& options) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  auto state = std::make_unique<IndexState>();
  state->header.problem = "the log is empty";
  state->has_hashes = true;
  IndexSink sink(*state);
  RETURN_IF_ERROR(read(log, sink, options.cancelled));
  state->scanned_size = size;
  state->finish();
  return std::make_unique<LogIndex>(std::move(state));
}

}  // namespace arborfs
