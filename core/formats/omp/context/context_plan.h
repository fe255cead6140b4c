// Which entries of a path the model sees: compactions and resets hide earlier ones (omp/FORMAT.md C16 to C20,
// K2 to K4, M1 to M5). Internal to this folder.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/formats/omp/context/context_pi.h"
#include "core/formats/omp/context/context_source.h"

namespace arborfs::context {

struct Plan {
  std::optional<std::size_t> notes;          // the step whose notebook is shown first
  bool has_system_message = false;           // pi: the compaction's own system prompt precedes its summary
  std::optional<std::size_t> compaction;     // the step whose summary comes next
  std::optional<double> history_rewrite_at;  // for that summary
  std::optional<std::size_t> request;        // the step with the user's request, shown after the summary
  /// Steps whose messages follow, as half-open ranges in order.
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  ContextEdits edits;     // for pi
  bool is_whole = false;  // whole_plan(): every compaction is a message at its place, and nothing is repaired
};

/// Errors: io, stale.
Result<Plan> plan_of(const ContextPath& path, const Source& source);
/// The plan that shows every entry of the path. Errors: io, stale.
Result<Plan> whole_plan(const ContextPath& path, const Source& source);

}  // namespace arborfs::context
