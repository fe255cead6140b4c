// What a new session may let other users do: nothing that they cannot do with the session that it is made from. Any
// thread.
#pragma once

#include <sys/types.h>

#include "core/session/session.h"

namespace arborfs {

/// The permissions of the session's file, less those that the folders above it up to its agent's take from the group
/// and from others. Those of the owner are all there, so that an agent that makes a file with its own mode makes it
/// with `mode & permissions_of(source)`. A session whose file cannot be examined is private.
mode_t permissions_of(const Session& session);

}  // namespace arborfs
