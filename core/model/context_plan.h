// Which entries of a path the model gets to see: compactions and resets hide what was before (FACTS C16 to C20).
// Internal to core/model.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/model/context_source.h"

namespace arborfs::context {

struct Plan {
  std::optional<std::size_t> compaction;  // the step whose summary stands first
  std::optional<double> summary_time;     // of that summary, when it is not the entry's own
  /// Steps whose messages follow, as half-open ranges in order.
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
};

/// Errors: io, stale.
Result<Plan> plan_of(const ContextPath& path, const Source& source);

}  // namespace arborfs::context
