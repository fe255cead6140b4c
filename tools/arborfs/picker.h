// Lets the user at the terminal choose one session: with fzf and a preview of the transcript if it is installed, else
// from a numbered list.
#pragma once

#include <vector>

#include "tools/arborfs/access.h"

namespace arborfs::cli {

/// True if there is a user to ask.
bool can_ask(const CommandLine& line, const Terminal& io);

/// Asks the user to choose one of the sessions, of which there is at least one. Errors: interrupted if the user chooses
/// none; invalid_argument for an answer that is not a number in the list; io.
Result<Listed> pick(const CommandLine& line, const std::vector<Listed>& sessions, Terminal& io);

}  // namespace arborfs::cli
