// The user's request that stays visible after a rollover of the context (omp/FORMAT.md M4, M5). omp18 only. Internal to
// core/model.
#pragma once

#include <optional>

#include "core/formats/omp/context/context_source.h"

namespace arborfs::context {

/// The step of the user's last request before the step `end`; does not search before the last reset. Errors: io, stale.
Result<std::optional<std::size_t>> last_request(const ContextPath& path, const Source& source, std::size_t end);

}  // namespace arborfs::context
