// Which entries of a path the model gets to see: compactions and resets hide what was before (omp/FORMAT.md C16 to C20,
// K2 to K4, M1 to M5). Internal to core/model.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/model/context_source.h"

namespace arborfs::context {

struct Plan {
  std::optional<std::size_t> notes;          // the step whose notebook stands first
  std::optional<std::size_t> compaction;     // the step whose summary comes next
  std::optional<double> history_rewrite_at;  // of that summary
  std::optional<std::size_t> request;        // the step that stays in sight behind it
  /// Steps whose messages follow, as half-open ranges in order.
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
};

/// Errors: io, stale.
Result<Plan> plan_of(const ContextPath& path, const Source& source);

}  // namespace arborfs::context
