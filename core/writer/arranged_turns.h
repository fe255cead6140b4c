// The order and the shape of the turns of a conversation. Pure; any thread.
#pragma once

#include <vector>

#include "core/writer/conversation.h"

namespace arborfs {

/// Puts the results of tools behind the turns with their calls, and records of one answer together; what nothing
/// answers becomes text, and is counted. The result is as Conversation::turns, but for times and halves of surrogate
/// pairs.
std::vector<Turn> arranged_turns(std::vector<Turn> said, AsText& counts);

}  // namespace arborfs
