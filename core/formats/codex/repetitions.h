// Tells the events that only repeat an item from those that alone have their words (codex/FORMAT.md G3). A value; used
// by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/record_reader.h"

namespace arborfs::codex {

/// The words of an item or an event.
struct Speech {
  enum class Voice : std::uint8_t { none, user, answer, thought };
  Voice voice = Voice::none;
  std::string_view text = {};              // of the user: all of it
  std::vector<std::uint64_t> hashes = {};  // of the others: one for each text
};

/// The hash of a text as Codex shows it: without the white space around it, and without parts that it hides.
std::uint64_t hash_of_words(std::string_view text);

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

}  // namespace arborfs::codex
