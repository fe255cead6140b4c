// The rows of one stretch of a transcript. Used by one thread at a time.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/formats/claude/row.h"
#include "core/log/line_reader.h"
#include "core/log/log_index.h"

namespace arborfs::claude {

/// For LinePipeline.
struct Stretch {
  using Parser = RowParser;
  std::vector<Row> rows;  // without asides
  std::vector<Damage> damage;
  std::vector<std::string_view> left_out;  // the types
  std::deque<std::string> texts;           // of rows

  void clear();
  void take(const LineReader::Line& line, RowParser& parser);
};

}  // namespace arborfs::claude
