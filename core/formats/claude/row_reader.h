// Reads the rows of one stretch of a transcript. Any thread; a parser and a stretch are used by one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/claude/row.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"

namespace arborfs::claude {

/// The rows of the lines that start in one stretch of a log.
struct Stretch {
  std::vector<Row> rows;  // without asides
  std::vector<Damage> damage;
  std::deque<std::string> texts;  // of rows
  std::unique_ptr<char[]> bytes;  // of all lines
  std::size_t capacity = 0;
};

/// Reads the lines that start in [begin, end) of a log that ends at `log_end`, into `stretch`, whose buffers are used
/// again. Errors: io, stale.
Result<void> read_stretch(const LogSource& log, std::uint64_t begin, std::uint64_t end, std::uint64_t log_end,
                          RowParser& parser, Stretch& stretch);

}  // namespace arborfs::claude
