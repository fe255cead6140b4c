// The content of a record, in terms that all agents share. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/document.h"

namespace arborfs {

struct MessagePart {
  enum class Kind : std::uint8_t {
    text,
    thinking,
    tool_call,    // of `tool`, with its arguments as JSON in `text`
    tool_output,  // what a tool gave, as it is
    tool_error,   // what follows is the output of a call of `tool` that failed
    image,        // of the media type in `text`, or that of its data: URL
    fields,       // of no known shape: as JSON in `text`, under the name `tool`, which may be ""
  };
  Kind kind = Kind::text;
  std::string text;  // WTF-8
  std::string tool;  // "" if the record does not name it
  /// Of an image: the string in the record that holds its base64 text or its data: URL. Null, or a string that is
  /// neither, for an image whose bytes are elsewhere: it has a number but no file. Lives as long as the record.
  const json::Value* data = nullptr;
  std::string call_id = {};  // of a call, where its result names it
};

/// The parts of one record, in the order in which people read them.
using Message = std::vector<MessagePart>;

/// Makes the texts of a record that holds the output of a tool such output.
inline void make_output(Message& message) {
  for (MessagePart& part : message) {
    part.kind = part.kind == MessagePart::Kind::text ? MessagePart::Kind::tool_output : part.kind;
  }
}

}  // namespace arborfs
