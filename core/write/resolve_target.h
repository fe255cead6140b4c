// Finds the entry that a user names (CONTRACT.md 4.6): by id, by a unique prefix of it of at least four characters, by
// `#42`, by label, or by the name of its file in entries/ or text/ with or without the ending. Also checks whether a
// branch may end at an entry. Any thread.
#pragma once

#include <optional>
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

/// The entry itself, or the nearest one before it that is not a label or a title: these are no part of the
/// conversation, so a user who names the end of a branch means the entry before them. The entry itself if all before it
/// are such.
Ordinal named_entry(const LogIndex& index, Ordinal ordinal);

/// The entry that a word means on the path to `leaf`: named_entry() of it for `leaf`, or the newest message, message of
/// the user or of the assistant for `last`, `last-user` and `last-assistant`. A `^` after it, or after another name of
/// an entry, means the named_entry() before it, `^^` the one before that; kNoEntry before the first one. Nothing for
/// other words. Errors: not_found if the path has no such message, or no entry has the name before a `^`.
Result<std::optional<Ordinal>> find_by_word(const LogIndex& index, Ordinal leaf, std::string_view word);

/// The id of an entry, or its number if it has no string for an id, as find_leaf_target() takes it; `root` for
/// kNoEntry.
std::string target_name(const LogIndex& index, Ordinal ordinal);

/// Fails if a branch that ends at this entry would end in tool calls without results, which models refuse
/// (FAILURES.md F27). Reads the entries from the last assistant message on. Errors: invalid_argument, and those of
/// reading.
Result<void> check_branch_end(const Session& session, Ordinal ordinal);

}  // namespace arborfs
