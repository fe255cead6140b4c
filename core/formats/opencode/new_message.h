// The texts of a message that arborfs adds to a session, in both kinds of stores (opencode/FORMAT.md G1, G6). Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// A message, or one of its parts, without the ids that say where it belongs.
struct NewRecord {
  std::string id;
  std::string members;  // the text of an object's members, without braces
};

struct MessageRecords {
  NewRecord info;
  std::int64_t time_ms = 0;
  std::vector<NewRecord> parts;
};

/// The message with new ids, and its only part. `before` is the last message for which names_model() is true, "" if
/// there is none: then this one names none either, and OpenCode takes its default model (opencode/FORMAT.md G5).
MessageRecords records_of(const NewMessage& wanted, std::int64_t created_ms, std::string_view before);

/// The refusals that both kinds of stores share.
Error messages_undone();
Error session_gone();

/// An id as OpenCode generates it (opencode/FORMAT.md A4). `kind` is "msg" or "prt". For equal times the id with the
/// higher `count`, from 1, sorts last.
std::string new_id(std::string_view kind, std::int64_t time_ms, std::uint32_t count);

/// The id of a session created at this time: later ones sort first.
std::string new_session_id(std::int64_t time_ms);

}  // namespace arborfs::opencode
