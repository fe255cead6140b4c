// Running agents of a format that defines how its programs are recognised (Format::programs) and which signs they leave
// (SessionStore::live_signs). See CONTRACT.md 5.6.
#pragma once

#include <memory>

#include "core/session/agent_look.h"

namespace arborfs {

/// A look now; with `may_be_recent` the list of programs may be a second old. `store` outlives it.
std::unique_ptr<AgentLook> look_for_programs(const SessionStore& store, bool may_be_recent);

}  // namespace arborfs
