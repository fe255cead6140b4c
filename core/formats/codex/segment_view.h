// The segments of a thread as its reader goes through them, and the header in the first of its own (codex/FORMAT.md B2,
// B6). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/codex/segments_log.h"
#include "core/log/log_index.h"

namespace arborfs::codex {

struct SegmentView {
  std::string id;
  std::optional<HistoryBase> base;
  bool is_own = true;
  bool is_last = true;
  const LogSource* file = nullptr;
  std::uint64_t length = 0;
  std::uint64_t start = 0;
};

/// Those of a thread; any other log is a single segment. They point into `log`. Errors: io, stale.
Result<std::vector<SegmentView>> segments_of(const LogSource& log);

/// Errors: io, stale.
Result<Header> read_header_of(const std::vector<SegmentView>& views, const LogSource& log);

}  // namespace arborfs::codex
