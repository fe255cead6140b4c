// A conversation of another agent as messages of goat (goat/FORMAT.md C1, C2). Pure but for new ids; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "core/writer/conversation.h"

namespace arborfs::goat {

struct AdoptedMessages {
  std::string lines;
  std::size_t messages = 0;
  std::size_t turns = 0;  // of the user
  std::string model;      // of the last answer that names it
};

/// Adds the parts that could only be written as text to `counts`. Errors: io; too_large for a message that goat could
/// not read.
Result<AdoptedMessages> adopted_messages(const Conversation& conversation, AsText& counts);

}  // namespace arborfs::goat
