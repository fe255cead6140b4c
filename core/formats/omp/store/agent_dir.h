// Where omp and pi keep their state on this machine (CONTRACT.md 1, omp/FORMAT.md D1), and whether arborfs may use it.
// Reads the environment; any thread that does not race with setenv.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/store/session_store.h"

namespace arborfs {

/// The default agent dir of omp, as it is spelled: $PI_CODING_AGENT_DIR, else ~/.omp/agent.
std::string own_omp_dir();
/// That of pi: ~/.pi/agent. Nothing if $PI_CODING_AGENT_DIR names one folder for both, which counts as omp's.
std::optional<std::string> own_pi_dir();

/// The paths below a given agent dir.
StorePaths agent_dir_paths(const std::string& agent_dir);
/// The paths of omp's default agent dir, to which the XDG rule of omp/FORMAT.md D1 applies.
StorePaths own_omp_paths();

}  // namespace arborfs
