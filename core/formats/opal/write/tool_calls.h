// Whether a path of Opal's messages has each tool call with its result, without which models reject it (FAILURES.md
// F27). Any thread.
#pragma once

#include <string>
#include <vector>

#include "core/session/session.h"

namespace arborfs::opal {

/// Fails if the path to an entry ends in tool calls without results. Errors: invalid_argument, and those of reading.
Result<void> check_answered(const Session& session, Ordinal end);

/// Fails if a call and its result would no longer be adjacent on the path to the leaf after messages replace those from
/// `first` to `last`, two entries of that path. `members` is as in NewMessages. Errors: as above.
Result<void> check_replaced(const Session& session, Ordinal first, Ordinal last,
                            const std::vector<std::string>& members);

}  // namespace arborfs::opal
