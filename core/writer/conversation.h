// The conversation of a session, read for a session of another agent (CONTRACT.md 4.9). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/turn.h"
#include "core/session/session.h"

namespace arborfs {

/// The number of parts of a conversation that were written as text, because they could not be written in their own
/// form.
struct AsText {
  std::size_t reasoning = 0;
  std::size_t calls = 0;    // without a result
  std::size_t results = 0;  // without a call
  std::size_t errors = 0;   // results that say only in their text that the call failed
  std::size_t images = 0;
  std::size_t notes = 0;  // turns with Turn::is_note
};

struct Conversation {
  /// Every call has an id of its own and a result, and the results of a turn's calls, in the order of the calls, are
  /// the next turn. No turn is empty, every turn has a time, times do not go back, every image has its bytes, and the
  /// arguments of a call are one JSON object.
  std::vector<Turn> turns;
  std::string cwd;       // "" if it is not known
  std::string title;     // "" for none
  std::string agent;     // of the source
  std::string id;        // of the source
  AsText as_text;        // in `turns` already
  std::size_t left_out;  // entries that say nothing to a conversation
};

/// The most bytes that a conversation may have in its session.
inline constexpr std::uint64_t kMaxConversation = std::uint64_t{256} << 20U;

/// The path to an entry, spelled as for find_target; "" for the leaf. Changes nothing. Errors: not_found, too_large;
/// invalid_argument if the path has no content; those of reading.
Result<Conversation> read_conversation(const SessionPtr& session, const std::string& target);

/// The text that replaces reasoning, an image or the output of a failed call if a format cannot represent it. Counts
/// it.
std::string reasoning_as_text(const std::string& text, AsText& counts);
std::string image_as_text(const TurnImage& image, AsText& counts);
std::string failure_as_text(const std::string& output, AsText& counts);

/// A whole result as text, including images.
std::string result_as_text(const TurnPart& result, AsText& counts);

}  // namespace arborfs
