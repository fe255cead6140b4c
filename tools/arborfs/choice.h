// The sessions that --agent and --project select.
#pragma once

#include <vector>

#include "tools/arborfs/access.h"

namespace arborfs::cli {

/// Newest first. Errors: not_found if an option selects no session.
Result<std::vector<Listed>> chosen_sessions(const CommandLine& line, const Catalog& catalog);

}  // namespace arborfs::cli
