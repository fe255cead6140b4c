// The meaning of a segment's line for the tree (codex/FORMAT.md B). Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/codex/repetitions.h"
#include "core/json/places.h"
#include "core/log/line_reader.h"

namespace arborfs::codex {

struct RolloutRecord {
  enum class Kind : std::uint8_t {
    entry,
    prompt,    // an event with what the user typed: an entry if no item has it
    rollback,  // drops the last `turns` turns of the user
    aside,     // of no interest for the tree
    left_out,  // not shown although it is not known as bookkeeping; `type` says what it is
  };
  Kind kind = Kind::aside;
  std::optional<std::uint64_t> ordinal;
  std::optional<std::string_view> id;
  std::string_view timestamp;
  std::string_view type;     // of the entry, in arborfs's words: message, compaction, or Codex's
  Speech speech;             // of an item or of an event that may repeat one
  std::string_view role;     // of a message: the word for its file name
  bool begins_turn = false;  // what the user typed
  bool is_header = false;    // of the first formats, if it is the first line (codex/FORMAT.md B6)
  bool is_legacy_usage = false;
  /// Equal in copies of the record, whatever their times: a hash of the running sums, of the name of a response, or of
  /// what the user typed. 0 for other records.
  std::uint64_t mark = 0;
  std::uint64_t turns = 0;
};

class RolloutParser {
 public:
  /// Nothing if the line is not JSON. The record's texts point into `line`, after which json::Places::kPadding
  /// bytes must be readable, or into `texts`.
  std::optional<RolloutRecord> parse(std::string_view line, std::deque<std::string>& texts);

 private:
  json::Places places_;
};

/// The lines of a stretch, for LinePipeline.
struct RolloutLines {
  using Parser = RolloutParser;
  struct Line {
    std::uint64_t offset = 0;  // these four are those of the LineReader::Line
    std::uint64_t length = 0;
    bool is_too_long = false;
    bool is_ended = true;
    std::uint64_t hash = 0;  // of a line that may be an entry
    std::optional<RolloutRecord> record;
  };
  std::vector<Line> lines;
  std::deque<std::string> texts;

  void clear();
  void take(const LineReader::Line& line, RolloutParser& parser);
};

}  // namespace arborfs::codex
