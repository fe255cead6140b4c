// The running agents of omp and pi, and the sessions that they may hold (omp/FORMAT.md F9, L1). Thread-safe.
#pragma once

#include "core/session/liveness.h"

namespace arborfs {

const AgentFinder& omp_agents();

}  // namespace arborfs
