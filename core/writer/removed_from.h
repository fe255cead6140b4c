// The stores from which this user has removed sessions, in $XDG_STATE_HOME/arborfs/removed-from. A session in the trash
// goes back only below a store that is open (CONTRACT.md 4.7), and its note alone opens none: these are opened for it
// too, so that nobody has to name the store again. Any thread; if two processes write at once, one of the lines is
// lost.
#pragma once

#include <string>
#include <vector>

#include "core/store/session_store.h"

namespace arborfs {

struct RemovedFrom {
  std::string agent;
  std::string dir;  // the agent's folder, absolute
};

/// A failure only means that the store must be named when a session goes back.
void note_removed_from(const SessionStore& store);
/// Those noted last; none if the file cannot be read.
std::vector<RemovedFrom> removed_from();

}  // namespace arborfs
