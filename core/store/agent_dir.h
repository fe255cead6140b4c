// Where an agent keeps its state on this machine (CONTRACT.md 1, omp/FORMAT.md D1). Reads the environment; any thread
// that does not race with setenv.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/store/session_store.h"

namespace arborfs {

/// The places below an agent dir; "" means the user's own, for which the XDG rule of omp/FORMAT.md D1 holds.
StorePaths locate_agent_dir(const std::string& agent_dir);

enum class Access { look, write };

/// A store of another user is only looked at, and only when it was named: what is written there would belong to the
/// wrong user, and HOME kept by `sudo -E` leads there unasked (FAILURES.md S14). `named` is false for the default
/// agent dir. Success where there is no store yet. Errors: permission, with what to do instead.
Result<void> check_owner(const StorePaths& paths, bool named, Access access);

}  // namespace arborfs
