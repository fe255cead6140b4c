// What a record of another agent says, in terms that all agents share. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace arborfs {

struct MessagePart {
  enum class Kind : std::uint8_t {
    text,
    thinking,
    tool_call,   // of `tool`, with its arguments as JSON in `text`
    tool_error,  // what follows is the output of a call of `tool` that failed
  };
  Kind kind = Kind::text;
  std::string text;  // WTF-8
  std::string tool;  // "" if the record does not name it
};

/// The parts of one record, in the order in which people read them.
using Message = std::vector<MessagePart>;

}  // namespace arborfs
