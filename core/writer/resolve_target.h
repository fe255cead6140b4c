// The entry that a person means (CONTRACT.md 4.6): an id, a unique prefix of four or more of it, `#42`, a label, the
// name of its file in entries/ or text/ with or without its ending. And what keeps it from being the end of a branch.
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/session/session.h"

namespace arborfs {

/// kNoEntry when none is meant or more than one.
Ordinal entry_meant(const LogIndex& index, std::string_view spelled);
/// Errors: not_found when none is meant or more than one; it says which.
Result<Ordinal> find_target(const LogIndex& index, std::string_view spelled);
/// The same with `root`, which is kNoEntry.
Result<Ordinal> find_leaf_target(const LogIndex& index, std::string_view spelled);

/// Success unless the branch that ends there would end in tool calls without results, which models refuse
/// (FAILURES.md F27). Reads the entries from the last assistant message on. Errors: invalid_argument, and those of
/// reading.
Result<void> check_branch_end(const Session& session, Ordinal ordinal);

}  // namespace arborfs
