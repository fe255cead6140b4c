// Running agents of a format that defines how its programs are recognised (Format::programs) and which signs they leave
// (SessionStore::live_signs). See CONTRACT.md 5.6.
#pragma once

#include <chrono>
#include <memory>

#include "core/session/agent_look.h"

namespace arborfs {

/// The list of programs may be `max_age` old. `store` outlives the look.
std::unique_ptr<AgentLook> look_for_programs(const SessionStore& store, std::chrono::milliseconds max_age);

}  // namespace arborfs
