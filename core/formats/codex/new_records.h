// The records that arborfs adds to threads of Codex (codex/FORMAT.md H2). Pure but for new ids; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/turn.h"
#include "core/log/log_source.h"
#include "core/write/command_text.h"
#include "core/write/conversation.h"

namespace arborfs::codex {

/// What an append says: turns, whose first one is the user's, or a message for Codex's queue.
struct NewTurns : CommandOptions {
  std::vector<Turn> turns;
  std::string queued;  // "" for none
};

/// Text is a message of the user; JSON objects are messages, calls and outputs, as items of Codex, or {"queue":"text"}
/// alone. Errors: invalid_argument with the number of the object, not_utf8, too_large.
Result<NewTurns> new_turns(const AppendText& text);

/// Where the records of a segment go on.
struct SegmentEnd {
  std::string segment;
  bool is_paginated = false;
  std::uint64_t next = 0;  // the ordinal of the next record; in a legacy segment its line, from 1
};

/// Reads a segment for that. Errors: corrupt if no record of a paginated one has an ordinal; io, stale.
Result<SegmentEnd> read_end(const LogSource& segment, std::string id, bool is_paginated);

/// Makes the records of turns, one after the other.
class NewRecords {
 public:
  NewRecords(std::string thread, SegmentEnd end) : thread_(std::move(thread)), end_(std::move(end)) {}

  /// Parts that can only be written as text are counted. Errors: too_large for a line that no reader of arborfs takes;
  /// io without random numbers.
  Result<void> add(const Turn& turn, AsText& counts);
  /// Adds an item of Codex as it is. Errors also: invalid_argument if the first one is not the user's.
  Result<void> add_own(std::string_view item, std::int64_t time_ms);
  /// Ends the last turn of Codex, if an answer has completed it. Call it after the last turn.
  Result<void> finish();
  /// Adds what `more` has: it began at end().
  void join(const NewRecords& more);
  /// Adds another record. `payload` is JSON.
  Result<void> add_record(std::string_view type, std::string_view payload, std::int64_t time_ms);

  /// Each with its line feed.
  [[nodiscard]] const std::string& lines() const { return lines_; }
  /// The id of the last item's entry (B4), "" if there is none.
  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  [[nodiscard]] const SegmentEnd& end() const { return end_; }

 private:
  Result<void> add_prompt(const Turn& turn);
  Result<void> begin_turn(std::string_view item, const std::string& said, std::int64_t time_ms);
  Result<void> add_reply(const Turn& turn, AsText& counts);
  Result<void> add_results(const Turn& turn, AsText& counts);
  Result<void> add_answer(const std::string& text, std::string_view item, std::int64_t time_ms);
  Result<void> add_item(std::string_view payload, std::int64_t time_ms);
  Result<void> add_event(std::string_view payload, std::int64_t time_ms);
  Result<void> add_completed(const std::string& item, std::int64_t time_ms);

  const std::string thread_;
  SegmentEnd end_;
  std::string lines_;
  std::string last_id_;
  // Of the turn of Codex that is not ended yet:
  std::string turn_;  // its id, "" if there is none
  std::int64_t began_ms_ = 0;
  std::int64_t last_ms_ = 0;
  std::optional<std::string> answer_;  // the last part of the assistant, if that was a text
};

}  // namespace arborfs::codex
