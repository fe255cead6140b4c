// The messages that a compaction keeps unchanged (claude/FORMAT.md C4). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_source.h"

namespace arborfs::claude {

struct Preserved {
  struct Row {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  std::string anchor;     // the uuid of the row that they follow
  std::vector<Row> rows;  // in the order in which they are sent
};

/// Finds the rows that a boundary names, in the log before it. Empty if it names none, or if the log lacks one of them.
/// `raw` are the boundary's bytes, which begin at `offset`. Errors: stale, io.
Result<Preserved> find_preserved(const LogSource& log, std::string_view raw, std::uint64_t offset);

}  // namespace arborfs::claude
