// Whether this user may use a store.
#pragma once

#include "core/store/session_store.h"

namespace arborfs {

enum class Access { look, write };

/// A store of another user may only be read, and only if the user named it: files written there would belong to the
/// wrong user, and HOME kept by `sudo -E` leads there by accident (FAILURES.md S14). `named` is false for an agent's
/// own store. Succeeds if there is no store yet. Errors: permission, with advice on what to do instead.
Result<void> check_owner(const StorePaths& paths, bool named, Access access);

}  // namespace arborfs
