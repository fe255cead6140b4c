// Where omp and pi keep their state on this machine (CONTRACT.md 1, omp/FORMAT.md D1), and if arborfs may use it. Reads
// the environment; any thread that does not race with setenv.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/store/session_store.h"

namespace arborfs {

/// The agent dir of omp that nobody named, as it is spelled: $PI_CODING_AGENT_DIR, else ~/.omp/agent.
std::string own_omp_dir();
/// That of pi: ~/.pi/agent. Nothing if $PI_CODING_AGENT_DIR names one folder for both, which counts as omp's.
std::optional<std::string> own_pi_dir();

/// The paths below an agent dir that was named.
StorePaths agent_dir_paths(const std::string& agent_dir);
/// Those of omp's own, for which the XDG rule of omp/FORMAT.md D1 holds.
StorePaths own_omp_paths();

}  // namespace arborfs
