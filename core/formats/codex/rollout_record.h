// The meaning of a segment's line for the tree (codex/FORMAT.md B). Used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/places.h"
#include "core/log/line_reader.h"
#include "core/log/record_reader.h"

namespace arborfs::codex {

// Tells the events that only repeat an item from those that alone have their words (codex/FORMAT.md G3). A value; used
// by one thread.

/// The words of an item or an event.
struct Speech {
  enum class Voice : std::uint8_t { none, user, answer, thought };
  Voice voice = Voice::none;
  std::string_view text = {};              // of the user: all of it
  std::vector<std::uint64_t> hashes = {};  // of the others: one for each text
};

class Repetitions {
 public:
  void take_item(const Speech& item);
  /// True if a prompt is in no item of the user so far. Items precede the events that repeat them.
  bool is_new_prompt(const Speech& event);
  /// An answer or a thought, whose item may follow.
  void take_event(const Speech& event, RecordSink& sink);
  /// Tells the sink of the events of this turn that no item repeats, and begins the next one.
  void end_turn(RecordSink& sink);
  /// The same at the end of the log so far, without beginning a turn.
  void report(RecordSink& sink) const;

 private:
  static constexpr std::size_t kMostTexts = 8;
  static constexpr std::size_t kMostKept = 64 * 1024;  // bytes of a text
  static constexpr std::size_t kMostEvents = 4096;

  /// Of one voice, in this turn.
  struct Spoken {
    std::vector<std::uint64_t> items;
    std::vector<std::uint64_t> events;
    [[nodiscard]] std::size_t lone_events() const;
  };

  std::deque<std::string> prompts_;  // of the user's items since the last event
  bool was_repeated_ = false;        // an event has repeated one of them
  Spoken answers_;
  Spoken thoughts_;
};

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
