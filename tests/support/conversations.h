// Conversations that tests write as new sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/write/conversation.h"

namespace arborfs::testing {

/// The user and the assistant in turn; each turn is one text of about `bytes`.
inline Conversation conversation_of(std::size_t turns, std::size_t bytes) {
  Conversation conversation;
  conversation.cwd = "/work/kite";
  conversation.title = "Kites";
  for (std::size_t i = 0; i < turns; ++i) {
    Turn turn;
    turn.speaker = i % 2 == 0 ? Turn::Speaker::user : Turn::Speaker::assistant;
    turn.time_ms = 1000 + static_cast<std::int64_t>(i);
    turn.add(TurnPart::Kind::text, "turn " + std::to_string(i) + std::string(bytes, 'x'));
    conversation.turns.push_back(turn);
  }
  return conversation;
}

}  // namespace arborfs::testing
