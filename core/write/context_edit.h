// What a fork leaves out of a conversation, so that the model gets a lighter context (CONTRACT.md 4.9). Pure functions,
// any thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/entry/turn.h"

namespace arborfs {

/// Entries on the path, as users name them: id, unique prefix of 4 or more, #ordinal, label.
struct ContextEdit {
  std::vector<std::string> without;         // left out
  std::vector<std::string> without_output;  // their tools' output is replaced by a line that says so
  [[nodiscard]] bool is_empty() const { return without.empty() && without_output.empty(); }
};

/// Calls and results stay in pairs, because models refuse one without the other: the result of a call that is left out
/// goes with it, and the call of a result. An output is that of a result in the entry, or of a call in it. Errors:
/// invalid_argument if an entry has no output to replace.
Result<void> edit_turns(const std::set<Ordinal>& without, const std::set<Ordinal>& without_output,
                        std::vector<SaidTurn>& said);

}  // namespace arborfs
