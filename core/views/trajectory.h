// trajectory.json: the path to a session's leaf as a trajectory of the Agent Trajectory Interchange Format, ATIF-v1.7
// (https://harborframework.com/docs/trajectory-format), which tools for evaluation and training read. A step is a
// message of the user, a request to the model with its calls and their outputs, or a note; it has the tokens of its
// request, and the cost, which is computed where the agent tells none (prices.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/entry/content.h"
#include "core/session/session.h"
#include "core/views/started_sessions.h"

namespace arborfs {

/// The most bytes of texts that a trajectory has.
inline constexpr std::uint64_t kMaxTrajectory = std::uint64_t{64} << 20U;

/// Reads the path to `end` with what came before compactions; needs Depth::details. Images are named by their files in
/// `images/`. A result that names one of `started` refers to its trajectory. A session that says nothing has no steps.
/// Any thread. Errors: too_large, stale, io; interrupted once cancelled.
Result<std::shared_ptr<const Content>> trajectory(const Session& session, Ordinal end,
                                                  const std::vector<StartedSession>& started);

}  // namespace arborfs
