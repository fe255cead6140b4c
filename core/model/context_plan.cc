#include "core/model/context_plan.h"

#include <algorithm>
#include <cmath>

#include "core/model/context_compaction.h"
#include "core/model/js_text.h"

namespace arborfs::context {
namespace {

using Steps = std::vector<ContextPath::Step>;

std::optional<std::size_t> last_of(const Steps& steps, EntryType type) {
  const auto found = std::find_if(steps.rbegin(), steps.rend(),
                                  [type](const ContextPath::Step& step) { return step.entry.type == type; });
  return found == steps.rend() ? std::nullopt : std::optional(static_cast<std::size_t>(steps.rend() - found) - 1);
}

// The first step before `end` with that id.
std::optional<std::size_t> first_with(const std::vector<EntryId>& ids, std::size_t end,
                                      const std::optional<EntryId>& id) {
  for (std::size_t i = 0; id && i < end; ++i) {
    if (ids[i] == *id) {
      return i;
    }
  }
  return std::nullopt;
}

// `version < 2` as JavaScript compares, a missing version being 1 (FACTS E8).
Result<bool> is_version_1(const ContextPath& path, const Source& source) {
  if (!path.version_below_3) {
    return false;
  }
  json::Document header;
  if (auto loaded = load_entry(source, path.header_offset, path.header_length, header); !loaded) {
    return loaded.error();
  }
  const json::Value* version = json::member(header, "version");
  if (version == nullptr || !(version->IsNumber() || version->IsString())) {
    return true;
  }
  json::Document number;
  const bool is_number = json::parse(js_text(version), number) && number.IsNumber();
  return is_number && number.GetDouble() < 2;
}

std::optional<double> time_before(const Steps& steps, std::optional<std::size_t> kept, std::size_t compaction) {
  const std::size_t first = kept.value_or(compaction + 1);
  if (first >= steps.size() || steps[first].entry.timestamp_ms == Entry::kNoTime) {
    return std::nullopt;
  }
  return static_cast<double>(steps[first].entry.timestamp_ms) - 1;
}

}  // namespace

Result<Plan> plan_of(const ContextPath& path, const Source& source) {
  const Steps& steps = path.steps;
  Plan plan;
  const auto last = last_of(steps, EntryType::compaction);
  const auto reset = source.flavour == Flavour::omp18 ? last_of(steps, EntryType::reset_boundary) : std::nullopt;
  if (!last || (reset && *reset > *last)) {
    plan.ranges.emplace_back(reset ? *reset + 1 : 0, steps.size());
    return plan;
  }
  json::Document entry;
  if (auto loaded = load_entry(source, steps[*last].entry.offset, steps[*last].length, entry); !loaded) {
    return loaded.error();
  }
  const auto names_by_index = is_version_1(path, source);
  if (!names_by_index) {
    return names_by_index.error();
  }
  const Compaction compaction = read_compaction(entry, path, source, *names_by_index);
  const auto kept = first_with(path.ids, *last, compaction.first_kept);
  plan.compaction = last;
  if (compaction.is_anthropic) {
    plan.summary_time = time_before(steps, kept, *last);
  }
  if (!compaction.is_remote && kept) {
    plan.ranges.emplace_back(*kept, *last);
  } else if (compaction.is_remote) {
    if (const auto replayed = first_with(path.ids, *last, compaction.replay_through)) {
      plan.ranges.emplace_back(*replayed + 1, *last);
    }
  }
  plan.ranges.emplace_back(*last + 1, steps.size());
  return plan;
}

}  // namespace arborfs::context
