// The order and the shape of the turns of a conversation. Pure; any thread.
#pragma once

#include <vector>

#include "core/writer/conversation.h"

namespace arborfs {

/// Moves the results of tools after the turns with their calls, and joins records of one answer; calls without a
/// result, and results without a call, become text and are counted. The result is as Conversation::turns, except for
/// times and halves of surrogate pairs.
std::vector<Turn> arranged_turns(std::vector<Turn> said, AsText& counts);

}  // namespace arborfs
