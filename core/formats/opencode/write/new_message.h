// The texts of a message that arborfs adds to a session, in both kinds of stores (opencode/FORMAT.md G1, G6). Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace arborfs::opencode {

struct NewMessage {
  std::string text;
  std::string at;           // refused unless this is the last message; "" for whichever is
  bool is_summary = false;  // of a run (G6): for no agent, and the session does not count as used
  bool is_forced = false;   // even while OpenCode is answering
};

/// The last message of a session.
struct LastMessage {
  std::string id;  // "" if there is none
  std::int64_t created_ms = 0;
  bool is_being_written = false;  // or an unfinished answer before it, for which it waits
};

/// Errors: stale if `at` is another message; busy while OpenCode answers.
Result<void> check_follows(const LastMessage& last, const NewMessage& wanted);

/// The creation time of a message after the last one.
std::int64_t time_behind(const LastMessage& last);

/// True if the next message of the user goes to the agent and the model of this one.
bool names_model(std::string_view message);

/// The message without its ids. `before` is the last message for which names_model() is true, "" if there is none: then
/// this one names none either, and OpenCode takes its default model (opencode/FORMAT.md G5).
std::string message_text(const NewMessage& wanted, std::int64_t created_ms, std::string_view before);
/// Its only part, without the ids.
std::string part_text(const NewMessage& wanted, std::int64_t created_ms);

/// The refusals that both kinds of stores share.
Error messages_undone();
Error session_gone();

}  // namespace arborfs::opencode
