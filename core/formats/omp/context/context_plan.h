// What a context has of a path: the entries that the model sees, since compactions and resets hide earlier ones
// (omp/FORMAT.md C16 to C20, K2 to K4, M1 to M5) and pi edits them (pi/FORMAT.md C7, C8), and the settings in effect at
// its end (omp/FORMAT.md C9 to C13). Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/formats/omp/context/context_source.h"

namespace arborfs::omp {

/// The replacement for the content of one step, or the removal of the step.
struct ContextEdit {
  bool removes = false;
  std::uint64_t offset = 0;  // of the context_edit entry, whose replacement has the new content
  std::uint64_t length = 0;
};

struct ContextPlan {
  std::optional<std::size_t> notes;          // the step whose notebook is shown first
  bool has_system_message = false;           // pi: the compaction's own system prompt precedes its summary
  std::optional<std::size_t> compaction;     // the step whose summary comes next
  std::optional<double> history_rewrite_at;  // for that summary
  std::optional<std::size_t> request;        // the step with the user's request, shown after the summary
  /// Steps whose messages follow, as half-open ranges in order.
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  std::unordered_map<std::size_t, ContextEdit> edits;  // for pi: the one that counts for each edited step
  bool is_whole = false;  // whole_plan(): every compaction is a message at its place, and nothing is repaired
};

/// Errors: io, stale.
Result<ContextPlan> plan_of(const ContextPath& path, const ContextSource& source);
/// The plan that shows every entry of the path. Errors: io, stale.
Result<ContextPlan> whole_plan(const ContextPath& path, const ContextSource& source);

/// `],"thinkingLevel":...}`: the text of a context after its messages. Errors: io, stale.
Result<std::string> settings_json(const ContextPath& path, const ContextSource& source);

}  // namespace arborfs::omp
