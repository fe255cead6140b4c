// The damage of a log that the mount and the doctor show. Any thread.
#pragma once

#include <vector>

#include "core/session/session.h"

namespace arborfs {

/// The damage to show for this state: all of the log's, except an unterminated end that is less than 2 s old. None of
/// it is marked as in progress.
std::vector<Damage> shown_damage(const Session::Guard& guard);

}  // namespace arborfs
