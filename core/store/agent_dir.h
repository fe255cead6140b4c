// Where an agent keeps its state on this machine (CONTRACT.md 1, omp/FORMAT.md D1). Reads the environment; any thread
// that does not race with setenv.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/store/session_store.h"

namespace arborfs {

/// The paths below an agent dir; "" means the user's own, for which the XDG rule of omp/FORMAT.md D1 holds.
StorePaths locate_agent_dir(const std::string& agent_dir);

/// True if "" means pi's own agent dir: nobody named a folder, and omp has none.
bool is_default_pis();

enum class Access { look, write };

/// A store of another user may only be read, and only if the user named it: files written there would belong to the
/// wrong user, and HOME kept by `sudo -E` leads there by accident (FAILURES.md S14). `named` is false for the default
/// agent dir. Succeeds if there is no store yet. Errors: permission, with advice on what to do instead.
Result<void> check_owner(const StorePaths& paths, bool named, Access access);

}  // namespace arborfs
