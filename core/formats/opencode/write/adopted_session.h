// A conversation of another agent as the messages and parts of OpenCode (opencode/FORMAT.md B, G5). Pure but for new
// ids; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/writer/conversation.h"

namespace arborfs::opencode {

/// A message, or one of its parts, without the ids that say where it belongs.
struct AdoptedObject {
  std::string id;
  std::string members;  // the text of an object's members, without braces
};

struct AdoptedMessage {
  AdoptedObject info;
  std::int64_t time_ms = 0;
  std::vector<AdoptedObject> parts;
};

struct AdoptedSession {
  std::string id;
  std::string slug;
  std::string title;
  std::int64_t created_ms = 0;
  std::vector<AdoptedMessage> messages;  // in order, ids too
};

/// The version of a program that is not known.
inline constexpr std::string_view kUnknownVersion = "local";

/// Adds the parts that could only be written as text to `counts`.
AdoptedSession adopted_session(const Conversation& conversation, AsText& counts);

}  // namespace arborfs::opencode
