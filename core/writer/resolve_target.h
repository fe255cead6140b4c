// Finds the entry that a user names (CONTRACT.md 4.6): by id, by a unique prefix of it of at least four characters, by
// `#42`, by label, or by the name of its file in entries/ or text/ with or without the ending. Also checks whether a
// branch may end at an entry. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/session/session.h"

namespace arborfs {

/// kNoEntry if the name fits no entry or more than one.
Ordinal entry_meant(const LogIndex& index, std::string_view spelled);
/// Errors: not_found if the name fits no entry or more than one; the message says which.
Result<Ordinal> find_target(const LogIndex& index, std::string_view spelled);
/// The same, and kNoEntry for `root`.
Result<Ordinal> find_leaf_target(const LogIndex& index, std::string_view spelled);

/// Fails if a branch that ends at this entry would end in tool calls without results, which models refuse
/// (FAILURES.md F27). Reads the entries from the last assistant message on. Errors: invalid_argument, and those of
/// reading.
Result<void> check_branch_end(const Session& session, Ordinal ordinal);

}  // namespace arborfs
