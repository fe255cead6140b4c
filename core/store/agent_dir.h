// Where an agent keeps its state on this machine (DESIGN 1, FACTS D1). Reads the environment; any thread that does not
// race with setenv.
#pragma once

#include <string>

#include "core/store/session_store.h"

namespace arborfs {

/// The places below an agent dir; "" means the user's own, for which the XDG rule of FACTS D1 holds.
StorePaths locate_agent_dir(const std::string& agent_dir);

}  // namespace arborfs
