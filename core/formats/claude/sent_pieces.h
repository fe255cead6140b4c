// Which content of a transcript Claude Code sends to its model, row by row (claude/FORMAT.md C4, F). Any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/entry/context_path.h"
#include "core/entry/record_renderer.h"
#include "core/log/log_source.h"

namespace arborfs::claude {

/// Content that is sent, as a range of the log: a JSON string, or the blocks of an array without its brackets.
struct Piece {
  std::string_view role;  // a literal
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool is_string = false;
  bool is_utf8 = true;
  bool is_prompt = false;   // a prompt or an answer, not the result of a tool
  std::uint64_t reply = 0;  // of a block: a hash of its message's id
  std::uint64_t row = 0;    // the range of its row
  std::uint64_t row_length = 0;
  Ordinal entry = kNoEntry;  // kNoEntry for a row that is not on the path
};

/// Adds the pieces of one row, whose bytes `raw` are at `offset` of the log.
void add_pieces(std::string_view raw, std::uint64_t offset, Ordinal entry, std::vector<Piece>& pieces);

/// The pieces of a path, and of the rows that its compaction preserved, in the order in which they are sent; with
/// Reach::path those of every row, in the order of the path. Errors: stale, io.
Result<std::vector<Piece>> sent_pieces(const ContextPath& path, const LogSource& log, Reach reach);

}  // namespace arborfs::claude
