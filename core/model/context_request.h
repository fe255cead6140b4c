// The user's request that a rollover of the context leaves in sight (omp/FORMAT.md M4, M5). 18 only. Internal to
// core/model.
#pragma once

#include <optional>

#include "core/model/context_source.h"

namespace arborfs::context {

/// The step of the last request of the user before the step `end`, not looking beyond the last reset. Errors: io,
/// stale.
Result<std::optional<std::size_t>> last_request(const ContextPath& path, const Source& source, std::size_t end);

}  // namespace arborfs::context
